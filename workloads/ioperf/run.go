package ioperf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"spindle/workloads/crew"
	"spindle/workloads/latency"
)

// Report is what was measured: one recorder of each kind for all processes
// together, and the stalls of all in the order of their start.
type Report struct {
	Read       *latency.Recorder `json:"read"`
	WAL        *latency.Recorder `json:"wal"`
	Commit     *latency.Recorder `json:"commit"`
	Checkpoint *latency.Recorder `json:"checkpoint"`
	Sync       *latency.Recorder `json:"sync"`
	Started    int64             `json:"started_ns"` // CLOCK_MONOTONIC
	Ended      int64             `json:"ended_ns"`   // of the last process
	Stalls     []latency.Stall   `json:"stalls"`
}

// Seconds is how long it took until the last process ended.
func (r *Report) Seconds() float64 { return float64(r.Ended-r.Started) / 1e9 }

// Role takes over a process that was started as one of this program's: args are
// without the program's own name. ok is false if they name something else.
func Role(ctx context.Context, self []string, args []string) (code int, ok bool) {
	if len(args) < 2 || args[0] != mainRole && args[0] != memberRole {
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
		err = Run(ctx, o, self, os.Stdout)
	case len(args) < 3:
		err = errors.New("which process?")
	default:
		var index int
		if index, err = strconv.Atoi(args[2]); err == nil && (index < 0 || index >= len(o.roles())) {
			err = fmt.Errorf("there is no process %d", index)
		}
		if err == nil {
			err = runMember(ctx, o, index, os.Stdout)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", args[0], err)
		return 1, true
	}
	return 0, true
}

// Prepare makes the files, on the drive.
func Prepare(o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	return errors.Join(setUp(filepath.Join(o.Dir, DataFile), o.Data), setUp(filepath.Join(o.Dir, WALFile), o.WAL))
}

// Run starts all processes and waits for them. Files that are not there are made
// first.
func Run(ctx context.Context, o Options, self []string, stdout *os.File) error {
	if err := Prepare(o); err != nil {
		return err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	var members []crew.Member
	for i, role := range o.roles() {
		members = append(members, crew.Member{Name: role, Args: []string{memberRole, string(text), strconv.Itoa(i)}, Dir: o.Dir})
	}
	c, err := crew.Muster(ctx, self, members, stdout)
	if err != nil {
		return err
	}
	rep := Report{Started: int64(latency.Now())}
	c.Go()
	if err := c.Wait(); err != nil {
		return err
	}
	rep.Ended = int64(latency.Now())
	if err := rep.gather(o); err != nil {
		return err
	}
	if text, err = json.Marshal(rep); err != nil {
		return err
	}
	return os.WriteFile(o.Report, text, 0o600)
}

// gather adds up what the processes left.
func (r *Report) gather(o Options) error {
	kinds := map[string]**latency.Recorder{
		readOp: &r.Read, walOp: &r.WAL, commitOp: &r.Commit, checkpointOp: &r.Checkpoint, checkpointSync: &r.Sync,
	}
	for op, to := range kinds {
		*to = &latency.Recorder{Op: op, Times: latency.New()}
	}
	var all []*latency.Recorder
	for i := range o.roles() {
		text, err := os.ReadFile(o.memberReport(i))
		if err != nil {
			return err
		}
		var times []*latency.Recorder
		if err := json.Unmarshal(text, &times); err != nil {
			return fmt.Errorf("read %s: %w", o.memberReport(i), err)
		}
		for _, t := range times {
			kind, ok := kinds[t.Op]
			if !ok {
				return fmt.Errorf("read %s: %q is no operation", o.memberReport(i), t.Op)
			}
			to := *kind
			to.Times.Add(t.Times)
			to.Lost += t.Lost
		}
		all = append(all, times...)
		os.Remove(o.memberReport(i))
	}
	r.Stalls = latency.Merge(all...)
	return nil
}
