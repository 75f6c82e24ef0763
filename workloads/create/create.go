// Package create makes many small files, as fs_mark does: processes that begin
// together, each in a directory of its own, make so many files of one size, round
// after round, and the files made a second are counted for each round.
//
// It is Dave Chinner's usual load on XFS (fs_mark -S0 -n 10000 -s 4096 -L 120 -d
// ... once for each process), which slowed down under the first writeback
// throttling patches (LWN 683353).
//
// It promises real processes that pass a gate together, so that a round's time
// has no start of a program in it. Names are drawn from the file's number, so
// that they do not come in the order of a directory. It is not fs_mark: that
// prints the time of each system call, this keeps the time of each file.
package create

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"spindle/workloads/crew"
	"spindle/workloads/latency"
)

// Options are the numbers of a run. There are no defaults here.
type Options struct {
	Dir         string        `json:"dir"`
	Processes   int           `json:"processes"`
	Files       int           `json:"files"` // of each process, each round
	Size        int64         `json:"size"`  // of a file
	Rounds      int           `json:"rounds"`
	Directories int           `json:"directories"` // of each process, filled in turn; 0 is its one
	Fsync       bool          `json:"fsync"`       // each file before it is closed (fs_mark -S1); else none (-S0)
	Stall       time.Duration `json:"stall"`       // files that take longer are listed
	Report      string        `json:"report"`
}

func (o Options) check() error {
	if o.Processes < 1 || o.Files < 1 || o.Rounds < 1 || o.Size < 0 || o.Directories < 0 {
		return fmt.Errorf("%d processes, %d files of %d bytes, %d rounds: out of range", o.Processes, o.Files, o.Size, o.Rounds)
	}
	return nil
}

// Report is what was measured.
type Report struct {
	Rates  []float64         `json:"rates"` // files a second, one each round
	Files  int64             `json:"files"`
	Times  *latency.Recorder `json:"times"` // of a file, from open to close
	Stalls []latency.Stall   `json:"stalls"`
}

const (
	mainRole   = "create"
	memberRole = "create-member"
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
	return crew.Rounds[Options]{
		Name:   mainRole,
		Check:  Options.check,
		Lead:   func(o Options) error { return Run(ctx, o, self, os.Stdout) },
		Member: func(o Options, index, round int) error { return member(ctx, o, index, round) },
	}.Role(args)
}

func (o Options) memberReport(index int) string { return fmt.Sprintf("%s.%03d", o.Report, index) }

// Run makes the files of all rounds. Each round has new processes, as fs_mark's
// has.
func Run(ctx context.Context, o Options, self []string, stdout *os.File) error {
	if err := o.check(); err != nil {
		return err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	rep := Report{Times: &latency.Recorder{Op: "create", Times: latency.New()}}
	var all []*latency.Recorder
	for round := 0; round < o.Rounds && ctx.Err() == nil; round++ {
		var members []crew.Member
		for i := range o.Processes {
			members = append(members, crew.Member{
				Name: fmt.Sprintf("process %d", i), Args: []string{memberRole, string(text), strconv.Itoa(i), strconv.Itoa(round)},
			})
		}
		c, err := crew.Muster(ctx, self, members, stdout)
		if err != nil {
			return err
		}
		began := time.Now()
		c.Go()
		if err := c.Wait(); err != nil {
			return err
		}
		took := time.Since(began).Seconds()
		made := int64(0)
		for i := range o.Processes {
			times, err := takeTimes(o.memberReport(i))
			if err != nil {
				return err
			}
			made += times.Times.N()
			rep.Times.Times.Add(times.Times)
			all = append(all, times)
		}
		rep.Files += made
		rep.Rates = append(rep.Rates, float64(made)/took)
		fmt.Fprintf(stdout, "round %d: %d files, %.1f files/sec\n", round+1, made, float64(made)/took)
	}
	rep.Stalls = latency.Merge(all...)
	if text, err = json.Marshal(rep); err != nil {
		return err
	}
	return os.WriteFile(o.Report, text, 0o600)
}

func takeTimes(path string) (*latency.Recorder, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	defer os.Remove(path)
	var r latency.Recorder
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if r.Times == nil {
		return nil, fmt.Errorf("read %s: no times in it", path)
	}
	return &r, nil
}

// place gives the path of a file: its directory in turn, its name by an odd
// factor modulo 2^32, which no two numbers share and no order shows in.
func (o Options) place(index, round, n int) string {
	dir := filepath.Join(o.Dir, fmt.Sprintf("create-%03d", index))
	if o.Directories > 0 {
		dir = filepath.Join(dir, fmt.Sprintf("%05d", n%o.Directories))
	}
	number := uint32(round*o.Files+n) * 2654435761
	return filepath.Join(dir, fmt.Sprintf("%08x-%08x", number, round))
}

// member is one process of one round.
func member(ctx context.Context, o Options, index, round int) error {
	runtime.LockOSThread()
	for d := range max(1, min(o.Directories, o.Files)) {
		if err := os.MkdirAll(filepath.Dir(o.place(index, round, d)), 0o700); err != nil {
			return err
		}
	}
	times := latency.NewRecorder("create", o.Stall)
	data := make([]byte, o.Size)
	if err := crew.Ready(); err != nil {
		return err
	}
	for n := 0; n < o.Files && ctx.Err() == nil; n++ {
		path := o.place(index, round, n)
		began := time.Now()
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if _, err = f.Write(data); err == nil && o.Fsync {
			err = f.Sync()
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		times.Record(time.Since(began))
	}
	text, err := json.Marshal(times)
	if err != nil {
		return err
	}
	return os.WriteFile(o.memberReport(index), text, 0o600)
}
