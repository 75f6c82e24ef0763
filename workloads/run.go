package workloads

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/reports/record"
	"spindle/workloads/blockdev"
	"spindle/workloads/sample"
)

// run is one job under way.
type run struct {
	sys     System
	job     Job
	program program
	name    string   // of the workload
	set     Settings // the arm's and the workload's
	group   string   // directory of the control group that the workload runs in; "" is none
	beside  []*background
	shared  *shared
	stop    chan struct{} // closed when the program is asked to end; nil for the workload itself
	keep    string        // where raw files go, below Job.Dir
	drive   blockdev.Drive
	disks   []blockdev.Drive // the drive, or the members of the array that it is
	array   string           // the command that made the array; "" if the drive is none
	wbt     string           // its wbt_lat_usec before anything was set; "" if it has none
	dir     string           // where the workload's files go; the mount point
	target  string           // the drive's device node if there is no file system, else ""
	mounted bool
	flights []sample.Flight // of the timed part
	traced  span            // when events were traced; zero if they were not
	rest    rest            // since the last sync before the workload
	result  *Result
}

// span is a time on CLOCK_MONOTONIC.
type span struct{ from, to time.Duration }

// command is a program that must be in the guest.
type command struct {
	name    string
	version []string // arguments that make it tell its version
	pack    string   // Debian's package
}

// out gives the path of a raw file.
func (r *run) out(name string) string { return filepath.Join(r.job.Dir, r.keep, name) }

// warn adds to what a reader of the sample should know.
func (r *run) warn(format string, args ...any) {
	if r.shared != nil { // programs run beside one another
		r.shared.mu.Lock()
		defer r.shared.mu.Unlock()
	}
	r.result.Warnings = append(r.result.Warnings, fmt.Sprintf(format, args...))
}

// values pairs the program's metrics with their values.
func (r *run) values(vs ...float64) ([]record.Metric, error) {
	infos := r.program.metrics()
	if len(infos) != len(vs) {
		return nil, fmt.Errorf("%d values for %d metrics", len(vs), len(infos))
	}
	var ms []record.Metric
	for i, info := range infos {
		if math.IsNaN(vs[i]) || math.IsInf(vs[i], 0) {
			return nil, fmt.Errorf("metric %s is %g", info.Name, vs[i])
		}
		ms = append(ms, record.Metric{MetricInfo: info, Value: vs[i]})
	}
	return ms, nil
}

// phase runs a step and notes how long it took, also if it failed.
func (r *run) phase(name string, f func() error) error {
	start := time.Now()
	err := f()
	r.result.Phases = append(r.result.Phases, record.Phase{Name: name, Seconds: time.Since(start).Seconds()})
	return err
}

// missing is the error for a program that the image lacks.
func missing(c command) error {
	return &fault.Error{
		Kind: fault.Machinery, Reason: "program-missing",
		Err:  fmt.Errorf("%s is not in the guest's image", c.name),
		Hint: fmt.Sprintf("add %s to the plan's image: packages:", c.pack),
	}
}

// setup runs a command before the workload. What it prints is kept. A failure
// is the kernel's, with that reason: on a drive that answers, a mkfs or a mount
// has no other cause that a plan could not know.
func (r *run) setup(ctx context.Context, reason string, c command, args []string) (line string, err error) {
	if _, err := proc.LookPath(c.name); err != nil {
		return "", missing(c)
	}
	log, err := os.OpenFile(r.out(SetupFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return "", err
	}
	defer log.Close()
	cmd := proc.Cmd{Path: c.name, Args: args, Grace: -1}
	line = cmd.String()
	if _, err := fmt.Fprintf(log, "$ %s\n", line); err != nil {
		return line, err
	}
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	err = r.supervise(ctx, cmd)
	if _, werr := log.WriteString(said.String()); err == nil {
		err = werr
	}
	var e *proc.Error
	if errors.As(err, &e) && fault.Reason(err) == "" && ctx.Err() == nil {
		// The cause comes first; mkfs programs print their usage after it.
		e.Output = firstLines(said.String(), 2)
		err = fault.New(fault.Kernel, reason, err)
		r.evidence(SetupFile)
	}
	return line, err
}

// execute runs the workload's process. Its output goes into files. A failure
// is the kernel's.
func (r *run) execute(ctx context.Context, c proc.Cmd) error {
	stdout, err := os.Create(r.out(StdoutFile))
	if err != nil {
		return err
	}
	defer stdout.Close()
	stderr, err := os.Create(r.out(StderrFile))
	if err != nil {
		return err
	}
	defer stderr.Close()
	c.Stdout, c.Stderr, c.Grace = stdout, stderr, -1
	err = r.supervise(ctx, r.grouped(c))
	var e *proc.Error
	if errors.As(err, &e) && fault.Reason(err) == "" && ctx.Err() == nil {
		if text, rerr := os.ReadFile(r.out(StderrFile)); rerr == nil {
			e.Output = tailOf(string(text), 2000)
		}
		err = fault.New(fault.Kernel, "workload", err)
		r.evidence(StderrFile)
	}
	return err
}

// evidence names the file that shows why the job failed.
func (r *run) evidence(file string) { r.result.Outcome.Log = filepath.Join(r.keep, file) }

// firstLines gives the first n lines of a text that are not empty.
func firstLines(text string, n int) string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && len(out) < n {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}
