package torture

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"spindle/internal/proc"
)

// Role takes over a process that was started as one of this program's: args are
// without the program's own name. ok is false if they name something else.
func Role(ctx context.Context, self []string, args []string) (code int, ok bool) {
	if len(args) < 2 || args[0] != mainRole && args[0] != writerRole {
		return 0, false
	}
	var o Options
	err := json.Unmarshal([]byte(args[1]), &o)
	if err == nil {
		err = o.check()
	}
	switch {
	case err != nil:
	case args[0] == writerRole:
		err = writer(o, os.Stdout, os.NewFile(3, "counts"))
	default:
		err = Run(ctx, o, self, os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", args[0], err)
		return 1, true
	}
	return 0, true
}

// Run is the program's own process. Lines go to stdout as the published program
// prints them; self is how to start this program again for the random writer.
func Run(ctx context.Context, o Options, self []string, stdout *os.File) error {
	random, err := open(o.Dir, RandomFile)
	if err != nil {
		return err
	}
	defer random.Close()
	small, err := open(o.Dir, FsyncFile)
	if err != nil {
		return err
	}
	defer small.Close()
	if err := fill(random, o.File, stdout); err != nil {
		return err
	}
	var w *randomWriter
	if o.Writer {
		if w, err = startWriter(ctx, o, self, stdout); err != nil {
			return err
		}
	}
	random.Close()
	report, err := fsyncs(ctx, o, small, stdout)
	if w != nil {
		count, seconds, werr := w.stop()
		err = errors.Join(err, werr)
		report.RandomWrites, report.RandomSeconds = count, seconds
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(report)
	if err != nil {
		return err
	}
	return os.WriteFile(o.Report, text, 0o600)
}

func open(dir, name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE, 0o600)
}

// fill makes the random file as large as it should be, from its first byte and
// without a sync, unless it is already.
func fill(f *os.File, size int64, stdout io.Writer) error {
	st, err := f.Stat()
	if err != nil || st.Size() >= size {
		return err
	}
	fmt.Fprintln(stdout, "setting up random write file")
	zeros := make([]byte, Block)
	for at := int64(0); at < size; at += Block {
		if _, err := f.Write(zeros); err != nil {
			return err
		}
	}
	fmt.Fprintln(stdout, "done setting up random write file")
	return nil
}

// fsyncs is the loop that is timed. The thread is locked, so that I/O schedulers
// that look at tasks see one. When ctx ends it makes no further fsync.
func fsyncs(ctx context.Context, o Options, f *os.File, stdout io.Writer) (Report, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	buf := make([]byte, o.Write)
	for i := range buf {
		buf[i] = 'a'
	}
	pause := o.pauses()
	var r Report
	start := time.Now()
	fmt.Fprintln(stdout, "starting fsync run")
	for i := range o.Iterations {
		t0 := time.Now()
		if _, err := f.WriteAt(buf, 0); err != nil {
			return r, err
		}
		t1 := time.Now()
		if err := f.Sync(); err != nil {
			return r, err
		}
		t2 := time.Now()
		r.Writes = append(r.Writes, t1.Sub(t0).Seconds())
		r.Fsyncs = append(r.Fsyncs, t2.Sub(t1).Seconds())
		fmt.Fprintf(stdout, "write time: %5.4fs fsync time: %5.4fs\n", r.Writes[i], r.Fsyncs[i])
		if t2.Sub(start) > o.Duration {
			break
		}
		select {
		case <-time.After(pause()):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	fmt.Fprintf(stdout, "run done %d fsyncs total, killing random writer\n", len(r.Fsyncs))
	return r, nil
}

// randomWriter is the second process, seen from the first.
type randomWriter struct {
	p      *proc.Process
	up     chan struct{} // closed when it is about to write
	counts chan tally    // gets the last one
}

// tally is one line that the random writer tells.
type tally struct {
	writes int64
	nanos  int64
}

func startWriter(ctx context.Context, o Options, self []string, stdout *os.File) (*randomWriter, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	args := append(append([]string(nil), self[1:]...), writerRole, string(text))
	p, err := proc.Start(context.WithoutCancel(ctx), proc.Cmd{Path: self[0], Args: args, Stdout: stdout, ExtraFiles: []*os.File{w}, Unguarded: true})
	if err != nil {
		r.Close()
		return nil, err
	}
	rw := &randomWriter{p: p, up: make(chan struct{}), counts: make(chan tally, 1)}
	go rw.listen(r)
	// A fork is there at once, a new program is not. The load is to be there
	// when the clock starts.
	select {
	case <-rw.up:
	case <-p.Done():
	}
	return rw, nil
}

// listen reads to the end of the pipe and keeps the last count.
func (w *randomWriter) listen(r *os.File) {
	defer r.Close()
	var last tally
	up := false
	for sc := bufio.NewScanner(r); sc.Scan(); {
		var t tally
		if n, _ := fmt.Sscanf(sc.Text(), "%d %d", &t.writes, &t.nanos); n != 2 {
			continue
		}
		last = t
		if !up {
			up = true
			close(w.up)
		}
	}
	w.counts <- last
}

// stop ends the random writer as the published program does, with SIGTERM, and
// gives its last count. That it had ended before is an error.
func (w *randomWriter) stop() (writes int64, seconds float64, err error) {
	select {
	case <-w.p.Done():
		err = fmt.Errorf("the random writer ended before the run did: %w", cmp.Or(w.p.Wait(), errors.New("without an error")))
	default:
		w.p.Signal(syscall.SIGTERM)
		if e := w.p.Wait(); e != nil {
			err = fmt.Errorf("end random writer: %w", e)
		}
	}
	t := <-w.counts
	return t.writes, float64(t.nanos) / 1e9, err
}

// Prepare leaves the files as a finished run leaves them, but clean on the
// drive, for a run in mode "reuse".
func Prepare(o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	random, err := open(o.Dir, RandomFile)
	if err != nil {
		return err
	}
	defer random.Close()
	if err := fill(random, o.File, io.Discard); err != nil {
		return err
	}
	small, err := open(o.Dir, FsyncFile)
	if err != nil {
		return err
	}
	defer small.Close()
	buf := make([]byte, o.Write)
	for i := range buf {
		buf[i] = 'a'
	}
	if _, err := small.WriteAt(buf, 0); err != nil {
		return err
	}
	return errors.Join(small.Sync(), random.Sync())
}
