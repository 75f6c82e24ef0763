package workloads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/unit"
	"spindle/reports/record"
	"spindle/workloads/torture"
)

// FsyncTester is the buffered writeback torture program: fsyncs beside a process
// that overwrites random pages (package torture). The defaults are those of Chris
// Mason's mail of April 2011; he had 1 GB of memory, so a plan that scales keeps
// the file at eight times the guest's memory.
type FsyncTester struct {
	// Mode is "fresh" (the default: the program fills its file first, inside
	// the workload) or "reuse" (it finds the files of an earlier run, clean).
	Mode  string    `yaml:"mode" json:"mode,omitempty"`
	File  unit.Size `yaml:"file" json:"file,omitempty"`   // for the random writes; 0 is 8GiB
	Write unit.Size `yaml:"write" json:"write,omitempty"` // before each fsync; 0 is 1MiB
	// Pause is after each fsync. Without one it is the published program's, 4 s
	// exactly; one that is given is the mean of pauses drawn from half of it to
	// one and a half, so that fsyncs do not keep step with the disk's rotation.
	// All arms of a block draw the same pauses.
	Pause      *unit.Duration `yaml:"pause" json:"pause,omitempty"`
	Duration   unit.Duration  `yaml:"duration" json:"duration,omitempty"`           // no further fsync after it; 0 is 60s
	Iterations int            `yaml:"iterations" json:"iterations,omitempty"`       // at most; 0 is 60
	Random     string         `yaml:"random-writer" json:"random_writer,omitempty"` // "on" (the default) or "off"
	Stall      unit.Duration  `yaml:"stall" json:"stall,omitempty"`                 // a write longer than this has stalled; 0 is 1s
}

func (f *FsyncTester) options() torture.Options {
	o := torture.Options{
		File:       int64(orDefault(f.File, 8*unit.GiB)),
		Write:      int64(orDefault(f.Write, unit.MiB)),
		Pause:      4 * time.Second,
		Duration:   orDefault(f.Duration, unit.Duration(time.Minute)).Std(),
		Iterations: orDefault(f.Iterations, 60),
		Writer:     f.Random != "off",
	}
	if f.Pause != nil {
		o.Pause, o.Jitter = f.Pause.Std(), true
	}
	return o
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

func (f *FsyncTester) validate() error {
	o := f.options()
	switch {
	case !slices.Contains([]string{"", "fresh", "reuse"}, f.Mode):
		return fmt.Errorf("fsync-tester: mode %q: there are fresh and reuse", f.Mode)
	case !slices.Contains([]string{"", "on", "off"}, f.Random):
		return fmt.Errorf("fsync-tester: random-writer %q: write on or off", f.Random)
	case o.File < 2*torture.Block || o.File%torture.Block != 0:
		return fmt.Errorf("fsync-tester: file %s: write a multiple of 4KiB, at least 8KiB", f.File)
	case o.Write < 1 || o.Write > int64(unit.GiB):
		return fmt.Errorf("fsync-tester: write %s: write at least 1B and at most 1GiB", f.Write)
	case o.Iterations < 1:
		return fmt.Errorf("fsync-tester: iterations %d: at least 1", f.Iterations)
	case o.Pause < 0 || o.Duration < 0 || f.Stall < 0:
		return errors.New("fsync-tester: a time is negative")
	}
	return nil
}

func (f *FsyncTester) title() string {
	t := "fsync-tester"
	if f.Mode == "reuse" {
		t += " second run"
	}
	o := f.options()
	t += fmt.Sprintf(", %s file, %s writes", spaced(unit.Size(o.File)), spaced(unit.Size(o.Write)))
	if !o.Writer {
		t += ", no random writer"
	}
	return t
}

func (f *FsyncTester) slug() string {
	s := "fsync-tester"
	if f.Mode == "reuse" {
		s += "-reuse"
	}
	if f.Random == "off" {
		s += "-alone"
	}
	return s
}

func (f *FsyncTester) estimate(rate float64) float64 {
	o := f.options()
	s := min(o.Duration.Seconds(), float64(o.Iterations)*(o.Pause.Seconds()+0.4))
	if f.Mode != "reuse" {
		s += float64(o.File) / rate
	}
	return s
}

func (f *FsyncTester) space() unit.Size {
	o := f.options()
	return unit.Size(o.File + o.Write)
}

func (f *FsyncTester) onDevice() bool { return false }
func (f *FsyncTester) onFiles() bool  { return true }

func (f *FsyncTester) metrics() []record.MetricInfo {
	ms := []record.MetricInfo{
		{Name: "fsync p50", Unit: "s", Direction: record.Lower, Primary: true},
		{Name: "fsync mean", Unit: "s", Direction: record.Lower},
		{Name: "fsync max", Unit: "s", Direction: record.Lower},
		{Name: "write max", Unit: "s", Direction: record.Lower},
		{Name: "write sum", Unit: "s", Direction: record.Lower},
		{Name: "fsyncs", Unit: "1", Direction: record.Higher},
		{Name: "stalled writes", Unit: "1", Direction: record.Lower},
	}
	if f.Random != "off" {
		ms = append(ms, record.MetricInfo{Name: "random writes", Unit: "1/s", Direction: record.Higher})
	}
	return ms
}

func (f *FsyncTester) commands() []command { return nil }

func (f *FsyncTester) prepare(_ context.Context, r *run) error {
	if f.Mode != "reuse" {
		return nil
	}
	o := f.options()
	o.Dir = r.dir
	if err := torture.Prepare(o); err != nil {
		return fault.New(fault.Kernel, "workload", fmt.Errorf("make the files of an earlier run: %w", err))
	}
	return nil
}

func (f *FsyncTester) measure(ctx context.Context, r *run) ([]record.Metric, error) {
	o := f.options()
	o.Dir, o.Report, o.Seed = r.dir, r.out("fsync-tester.json"), r.job.Seed
	args, err := o.Args()
	if err != nil {
		return nil, err
	}
	self := r.sys.Self
	err = r.execute(ctx, proc.Cmd{Path: self[0], Args: append(slices.Clone(self[1:]), args...), Dir: r.dir})
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(o.Report)
	if err != nil {
		return nil, fmt.Errorf("read fsync-tester's report: %w", err)
	}
	var rep torture.Report
	if err := json.Unmarshal(text, &rep); err != nil {
		return nil, fmt.Errorf("read fsync-tester's report: %w", err)
	}
	return f.values(r, rep)
}

// values makes the metrics of a report. There are some dozen values at most, so
// they are taken as they are and not put in a histogram.
func (f *FsyncTester) values(r *run, rep torture.Report) ([]record.Metric, error) {
	if len(rep.Fsyncs) == 0 || len(rep.Writes) != len(rep.Fsyncs) {
		return nil, fmt.Errorf("read fsync-tester's report: %d writes and %d fsyncs", len(rep.Writes), len(rep.Fsyncs))
	}
	stall := orDefault(f.Stall, unit.Duration(time.Second)).Std().Seconds()
	stalled := 0
	for _, w := range rep.Writes {
		if w > stall {
			stalled++
		}
	}
	vs := []float64{
		median(rep.Fsyncs), sum(rep.Fsyncs) / float64(len(rep.Fsyncs)), slices.Max(rep.Fsyncs),
		slices.Max(rep.Writes), sum(rep.Writes), float64(len(rep.Fsyncs)), float64(stalled),
	}
	if f.Random != "off" {
		if !(rep.RandomSeconds > 0) {
			return nil, errors.New("read fsync-tester's report: the random writer told no count")
		}
		vs = append(vs, float64(rep.RandomWrites)/rep.RandomSeconds)
	}
	return r.values(vs...)
}

func sum(vs []float64) float64 {
	s := 0.0
	for _, v := range vs {
		s += v
	}
	return s
}

// median gives the middle one, or the mean of the middle two.
func median(vs []float64) float64 {
	s := slices.Sorted(slices.Values(vs))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
