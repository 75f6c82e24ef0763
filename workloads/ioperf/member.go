package ioperf

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"spindle/workloads/crew"
	"spindle/workloads/latency"
)

// member is one of the processes.
type member struct {
	Options
	ctx    context.Context
	index  int
	until  time.Time
	stdout io.Writer
	buf    [Block]byte
	own    [Block]byte // zeros
}

// runMember is the process: it opens its file, waits for the others, works
// until the time is over, and leaves its times in a file.
func runMember(ctx context.Context, o Options, index int, stdout *os.File) error {
	// A thread for good, as a process in C has: schedulers look at tasks. There
	// is next to no garbage.
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	role := o.roles()[index]
	name := DataFile
	if role == walWriter {
		name = WALFile
	}
	f, err := os.OpenFile(filepath.Join(o.Dir, name), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	m := &member{Options: o, ctx: ctx, index: index, stdout: stdout}
	if err := crew.Ready(); err != nil {
		return err
	}
	m.until = time.Now().Add(o.Duration)
	var times []*latency.Recorder
	switch role {
	case checkpointer:
		times, err = m.checkpoint(f)
	case walWriter:
		times, err = m.log(f)
	default:
		times, err = m.read(f)
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(times)
	if err != nil {
		return err
	}
	return os.WriteFile(o.memberReport(index), text, 0o600)
}

func (o Options) memberReport(index int) string { return fmt.Sprintf("%s.%02d", o.Report, index) }

// over says whether no further operation may begin.
func (m *member) over() bool { return m.ctx.Err() != nil || !time.Now().Before(m.until) }

func (m *member) recorder(op string) *latency.Recorder { return latency.NewRecorder(op, m.Stall) }

// read reads blocks without a pause.
func (m *member) read(f *os.File) ([]*latency.Recorder, error) {
	times, place := m.recorder(readOp), m.places(m.index)
	line := interval{w: m.stdout, op: readOp, pid: times.PID, every: readInterval}
	for !m.over() {
		if err := seek(f, place()); err != nil {
			return nil, err
		}
		start := time.Now()
		if _, err := io.ReadFull(f, m.buf[:]); err != nil {
			return nil, err
		}
		d := time.Since(start)
		times.Record(d)
		line.add(d)
	}
	return []*latency.Recorder{times}, nil
}

// checkpoint overwrites blocks and syncs the file after so many.
func (m *member) checkpoint(f *os.File) ([]*latency.Recorder, error) {
	writes, syncs, place := m.recorder(checkpointOp), m.recorder(checkpointSync), m.places(m.index)
	for n := 1; !m.over(); n++ {
		if err := seek(f, place()); err != nil {
			return nil, err
		}
		start := time.Now()
		if _, err := f.Write(m.own[:]); err != nil {
			return nil, err
		}
		writes.Record(time.Since(start))
		if n%m.CheckpointWrites == 0 {
			fmt.Fprintln(m.stdout, "starting fsync() of files")
			start := time.Now()
			if err := f.Sync(); err != nil {
				return nil, err
			}
			syncs.Record(time.Since(start))
			fmt.Fprintln(m.stdout, "finished fsync() of files")
		}
		pause(m.CheckpointPause)
	}
	return []*latency.Recorder{writes, syncs}, nil
}

// log writes records one after the other and commits each fifth, the first of
// five. A commit's time is that of its write and its sync.
func (m *member) log(f *os.File) ([]*latency.Recorder, error) {
	writes, commits := m.recorder(walOp), m.recorder(commitOp)
	wline := interval{w: m.stdout, op: walOp, pid: writes.PID, every: walInterval}
	cline := interval{w: m.stdout, op: commitOp, pid: writes.PID, every: commitInterval}
	at := int64(0)
	draw := rand.New(rand.NewPCG(uint64(m.Seed), 0))
	for n := 0; !m.over(); n++ {
		if err := seek(f, at); err != nil {
			return nil, err
		}
		start := time.Now()
		if _, err := f.Write(m.own[:]); err != nil {
			return nil, err
		}
		d := time.Since(start)
		writes.Record(d)
		wline.add(d)
		if n%commitEvery == 0 {
			if err := fdatasync(f); err != nil {
				return nil, err
			}
			d := time.Since(start)
			commits.Record(d)
			cline.add(d)
			if m.CommitPause > 0 {
				pause(time.Duration(draw.Int64N(int64(m.CommitPause) + 1)))
			}
		}
		if at += Block; at+Block >= m.WAL {
			at = 0
		}
		pause(m.WALPause)
	}
	return []*latency.Recorder{writes, commits}, nil
}

func seek(f *os.File, at int64) error {
	_, err := f.Seek(at, io.SeekStart)
	return err
}

func fdatasync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// pause sleeps in the kernel, as the original does: Go's own timers wake up to a
// millisecond late.
func pause(d time.Duration) {
	if d <= 0 {
		return
	}
	left := unix.NsecToTimespec(int64(d))
	for unix.Nanosleep(&left, &left) == unix.EINTR {
	}
}

// interval prints a line after so many operations, as the original does.
type interval struct {
	w     io.Writer
	op    string
	pid   int
	every int

	n        int
	sum, max time.Duration
}

func (i *interval) add(d time.Duration) {
	i.n++
	i.sum += d
	i.max = max(i.max, d)
	if i.n < i.every {
		return
	}
	// Divided by the readers' interval whatever it is, in whole nanoseconds.
	fmt.Fprintf(i.w, "%s[%d]: avg: %.1f msec; max: %.1f msec\n",
		i.op, i.pid, float64(i.sum/readInterval)/1e6, float64(i.max)/1e6)
	i.n, i.sum, i.max = 0, 0, 0
}

// setUp makes a file of size bytes and one block more, zeros that are on the
// drive, unless there is one.
func setUp(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	zeros := make([]byte, Block)
	for done := int64(0); done <= size; done += Block {
		if _, err := w.Write(zeros); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Sync()
}
