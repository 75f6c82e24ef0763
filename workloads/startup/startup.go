// Package startup replays the I/O of an application that starts: the stand-in for
// "it basically won't start before the buffered writeback is done".
//
// Algodev's S suite replays traces of xterm, gnome-terminal and lowriter. Those
// traces are not ours to copy, so this draws a start-up of the same kind from a
// seed: a new process opens file after file, as a dynamic linker and its program
// do, maps in a part of each by reads of 4 KiB to 128 KiB that wait for one
// another, and writes a few small files of its own with an fsync (a profile, a
// history). The page cache is dropped before each start.
//
// It promises that all starts of a run read the same places, that equal seeds
// give equal starts, and that each start is a process of its own, timed from its
// fork to its end. It does not promise the absolute times of any application.
package startup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"spindle/internal/proc"
	"spindle/workloads/latency"
)

// Options are the numbers of a run. There are no defaults here.
type Options struct {
	Dir    string        `json:"dir"`
	Files  int           `json:"files"`  // that the application opens
	Size   int64         `json:"size"`   // of all of them
	Fsyncs int           `json:"fsyncs"` // small files that it writes
	Starts int           `json:"starts"`
	Pause  time.Duration `json:"pause"` // before each start
	Limit  time.Duration `json:"limit"` // of one start; longer ones are ended and count as this
	Seed   uint64        `json:"seed"`
	Drop   string        `json:"drop"`  // path of drop_caches; "" leaves the cache
	Stall  time.Duration `json:"stall"` // reads and fsyncs that take longer are listed
	Report string        `json:"report"`
}

func (o Options) check() error {
	switch {
	case o.Files < 1 || o.Size < int64(o.Files)*page:
		return fmt.Errorf("%d files of %d bytes together: want at least %d a file", o.Files, o.Size, page)
	case o.Starts < 1 || o.Fsyncs < 0 || o.Pause < 0 || o.Limit <= 0:
		return fmt.Errorf("starts %d, fsyncs %d, pause %s, limit %s: out of range", o.Starts, o.Fsyncs, o.Pause, o.Limit)
	}
	return nil
}

// Report is what was measured.
type Report struct {
	Starts []float64         `json:"starts"` // seconds, one each
	Ended  int               `json:"ended"`  // starts that were ended at the limit
	Read   *latency.Recorder `json:"read"`
	Sync   *latency.Recorder `json:"sync"`
	Stalls []latency.Stall   `json:"stalls"`
}

const (
	mainRole = "startup"
	appRole  = "startup-application"
	page     = 4096
)

// Args gives the arguments that make a program with Role a run with these
// options.
func (o Options) Args() ([]string, error) {
	text, err := json.Marshal(o)
	return []string{mainRole, string(text)}, err
}

// Role takes over a process that was started as one of this program's: args are
// without the program's own name. ok is false if they name something else.
func Role(ctx context.Context, self []string, args []string) (code int, ok bool) {
	if len(args) != 2 || args[0] != mainRole && args[0] != appRole {
		return 0, false
	}
	var o Options
	err := json.Unmarshal([]byte(args[1]), &o)
	if err == nil {
		err = o.check()
	}
	switch {
	case err != nil:
	case args[0] == mainRole:
		err = Run(ctx, o, self)
	default:
		err = application(o)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", args[0], err)
		return 1, true
	}
	return 0, true
}

// piece is one read of the start.
type piece struct {
	file   int
	offset int64
	length int
}

// plan draws the files' sizes and the reads of a start, in their order. Few files
// are large and many are small, as libraries are; of each, about a half is read,
// from its head on.
func (o Options) plan() (sizes []int64, reads []piece) {
	g := rand.New(rand.NewPCG(o.Seed, 0))
	weights, total := make([]float64, o.Files), 0.0
	for i := range weights {
		u := g.Float64()
		weights[i] = 0.05 + u*u*u*u
		total += weights[i]
	}
	sizes = make([]int64, o.Files)
	for i, w := range weights {
		sizes[i] = max(page, int64(w/total*float64(o.Size))/page*page)
	}
	for i, size := range sizes {
		at := int64(0)
		for at < size {
			n := min(int64(page)<<g.IntN(6), size-at) // 4 KiB to 128 KiB
			reads = append(reads, piece{i, at, int(n)})
			at += n + int64(page)*int64(g.IntN(int(2*n/page)+1))
		}
	}
	return sizes, reads
}

func (o Options) file(i int) string { return filepath.Join(o.Dir, fmt.Sprintf("startup-%04d", i)) }

// Prepare makes the application's files.
func Prepare(o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	sizes, _ := o.plan()
	var key [32]byte
	random := rand.NewChaCha8(key)
	for i, size := range sizes {
		f, err := os.Create(o.file(i))
		if err != nil {
			return err
		}
		_, err = io.CopyN(f, random, size)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// appReport is where one start leaves its times.
func (o Options) appReport() string { return o.Report + ".start" }

// Run starts the application again and again.
func Run(ctx context.Context, o Options, self []string) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	rep := Report{Read: &latency.Recorder{Op: "read", Times: latency.New()}, Sync: &latency.Recorder{Op: "fsync", Times: latency.New()}}
	var all []*latency.Recorder
	for range o.Starts {
		select {
		case <-time.After(o.Pause):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		if o.Drop != "" {
			if err := os.WriteFile(o.Drop, []byte("3\n"), 0); err != nil {
				return fmt.Errorf("drop the page cache: %w", err)
			}
		}
		took, ended, err := start(self, string(text), o.Limit)
		if err != nil {
			return err
		}
		rep.Starts = append(rep.Starts, took.Seconds())
		if ended {
			rep.Ended++
			continue
		}
		times, err := readTimes(o.appReport())
		if err != nil {
			return err
		}
		rep.Read.Times.Add(times[0].Times)
		rep.Sync.Times.Add(times[1].Times)
		all = append(all, times[:]...)
	}
	rep.Stalls = latency.Merge(all...)
	if text, err = json.Marshal(rep); err != nil {
		return err
	}
	return os.WriteFile(o.Report, text, 0o600)
}

// start runs the application once; ended says that it was killed at the limit.
func start(self []string, options string, limit time.Duration) (took time.Duration, ended bool, err error) {
	began := time.Now()
	p, err := proc.Start(context.Background(), proc.Cmd{
		Path: self[0], Args: append(append([]string(nil), self[1:]...), appRole, options), Stderr: os.Stderr, Unguarded: true,
	})
	if err != nil {
		return 0, false, err
	}
	select {
	case <-p.Done():
		return time.Since(began), false, p.Wait()
	case <-time.After(limit):
		p.Signal(syscall.SIGKILL)
		p.Wait()
		return limit, true, nil
	}
}

func readTimes(path string) (times [2]*latency.Recorder, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return times, err
	}
	defer os.Remove(path)
	if err := json.Unmarshal(text, &times); err != nil {
		return times, err
	}
	if times[0] == nil || times[1] == nil {
		return times, fmt.Errorf("read %s: no times in it", path)
	}
	return times, nil
}

// application is the process that starts.
func application(o Options) error {
	_, reads := o.plan()
	times := [2]*latency.Recorder{latency.NewRecorder("read", o.Stall), latency.NewRecorder("fsync", o.Stall)}
	buf := make([]byte, 128<<10)
	var f *os.File
	every := len(reads) / (o.Fsyncs + 1)
	written, open := 0, -1
	for i, r := range reads {
		if r.file != open {
			if f != nil {
				f.Close()
			}
			var err error
			if f, err = os.Open(o.file(r.file)); err != nil {
				return err
			}
			open = r.file
		}
		began := time.Now()
		if _, err := unix.Pread(int(f.Fd()), buf[:r.length], r.offset); err != nil {
			return &os.PathError{Op: "read", Path: f.Name(), Err: err}
		}
		times[0].Record(time.Since(began))
		if written < o.Fsyncs && i+1 >= (written+1)*every {
			written++
			if err := o.save(times[1], written); err != nil {
				return err
			}
		}
	}
	if f != nil {
		f.Close()
	}
	text, err := json.Marshal(times)
	if err != nil {
		return err
	}
	return os.WriteFile(o.appReport(), text, 0o600)
}

// save writes a small file anew and syncs it.
func (o Options) save(times *latency.Recorder, n int) error {
	f, err := os.Create(filepath.Join(o.Dir, fmt.Sprintf("startup-own-%d", n)))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, page)); err != nil {
		return err
	}
	began := time.Now()
	if err := f.Sync(); err != nil {
		return err
	}
	times.Record(time.Since(began))
	return nil
}
