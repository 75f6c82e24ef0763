package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"spindle/internal/fault"
	"spindle/internal/unit"
	"spindle/reports/record"
	"spindle/workloads/startup"
)

// Startup is an application that starts with a cold cache, again and again
// (package startup). It shows little alone: give it something to run beside.
//
//   - startup: {}
//     beside:
//   - dd: {size: 10GiB}
type Startup struct {
	Files  int            `yaml:"files" json:"files,omitempty"`   // that it opens; 0 is 300
	Size   unit.Size      `yaml:"size" json:"size,omitempty"`     // of all of them; 0 is 60MiB
	Fsyncs *int           `yaml:"fsyncs" json:"fsyncs,omitempty"` // small files it writes and syncs; nil is 3
	Starts int            `yaml:"starts" json:"starts,omitempty"` // 0 is 5, the S suite's
	Pause  *unit.Duration `yaml:"pause" json:"pause,omitempty"`   // before each; nil is 3s, the S suite's
	Limit  unit.Duration  `yaml:"limit" json:"limit,omitempty"`   // of a start, which counts as this then; 0 is 120s, the S suite's
	Stall  unit.Duration  `yaml:"stall" json:"stall,omitempty"`   // reads and fsyncs that take longer are listed; 0 is 100ms
}

func (w *Startup) options() startup.Options {
	o := startup.Options{
		Files:  orDefault(w.Files, 300),
		Size:   int64(orDefault(w.Size, 60*unit.MiB)),
		Fsyncs: 3,
		Starts: orDefault(w.Starts, 5),
		Pause:  3 * time.Second,
		Limit:  orDefault(w.Limit, unit.Duration(2*time.Minute)).Std(),
		Stall:  orDefault(w.Stall, unit.Duration(100*time.Millisecond)).Std(),
	}
	if w.Fsyncs != nil {
		o.Fsyncs = *w.Fsyncs
	}
	if w.Pause != nil {
		o.Pause = w.Pause.Std()
	}
	return o
}

func (w *Startup) validate() error {
	o := w.options()
	switch {
	case o.Files < 1 || o.Files > 9999:
		return fmt.Errorf("startup: files %d: from 1 to 9999", w.Files)
	case o.Size < 4096*int64(o.Files):
		return fmt.Errorf("startup: size %s: at least 4KiB for each of %d files", unit.Size(o.Size), o.Files)
	case o.Fsyncs < 0 || o.Fsyncs > 1000:
		return fmt.Errorf("startup: fsyncs %d: from 0 to 1000", o.Fsyncs)
	case o.Starts < 1:
		return fmt.Errorf("startup: starts %d: at least 1", w.Starts)
	case o.Pause < 0 || o.Limit <= 0 || o.Stall < 0:
		return errors.New("startup: a time is negative")
	}
	return nil
}

func (w *Startup) title() string {
	o := w.options()
	return fmt.Sprintf("start-up of %s in %d files, %d times", spaced(unit.Size(o.Size)), o.Files, o.Starts)
}

func (w *Startup) slug() string { return "startup" }

func (w *Startup) estimate(rate float64) float64 {
	o := w.options()
	return float64(o.Starts) * (o.Pause.Seconds() + float64(o.Size)/rate)
}

func (w *Startup) space() unit.Size {
	o := w.options()
	return unit.Size(o.Size) + unit.Size(o.Files+o.Fsyncs)*4*unit.KiB
}

func (w *Startup) onDevice() bool { return false }
func (w *Startup) onFiles() bool  { return true }

func (w *Startup) metrics() []record.MetricInfo {
	ms := []record.MetricInfo{
		{Name: "start p50", Unit: "s", Direction: record.Lower, Primary: true},
		{Name: "start mean", Unit: "s", Direction: record.Lower},
		{Name: "start max", Unit: "s", Direction: record.Lower},
		{Name: "starts ended at the limit", Unit: "1", Direction: record.Lower},
		{Name: "read p99", Unit: "s", Direction: record.Lower},
		{Name: "read max", Unit: "s", Direction: record.Lower},
	}
	if w.options().Fsyncs > 0 {
		ms = append(ms, record.MetricInfo{Name: "fsync max", Unit: "s", Direction: record.Lower})
	}
	return ms
}

func (w *Startup) commands() []command { return nil }

func (w *Startup) prepare(_ context.Context, r *run) error {
	o := w.options()
	o.Dir, o.Seed = r.dir, r.job.Seed
	if err := startup.Prepare(o); err != nil {
		return fault.New(fault.Kernel, "workload", fmt.Errorf("make the application's files: %w", err))
	}
	return nil
}

func (w *Startup) measure(ctx context.Context, r *run) ([]record.Metric, error) {
	o := w.options()
	o.Dir, o.Seed, o.Report = r.dir, r.job.Seed, r.out("startup.json")
	o.Drop = r.sys.sysctl("vm.drop_caches")
	var rep startup.Report
	if err := r.own(ctx, o, o.Report, &rep); err != nil {
		return nil, err
	}
	r.noteStalls(rep.Stalls)
	if len(rep.Starts) == 0 {
		return nil, errors.New("read startup's report: the application was never started")
	}
	vs := []float64{
		median(rep.Starts), sum(rep.Starts) / float64(len(rep.Starts)), slices.Max(rep.Starts), float64(rep.Ended),
		rep.Read.Times.Quantile(0.99).Seconds(), rep.Read.Times.Max().Seconds(),
	}
	if o.Fsyncs > 0 {
		vs = append(vs, rep.Sync.Times.Max().Seconds())
	}
	ms, err := r.values(vs...)
	for i := range ms {
		switch ms[i].Name {
		case "start max", "start mean":
			ms[i].Limited = rep.Ended > 0
		case "start p50":
			ms[i].Limited = 2*int(rep.Ended) >= len(rep.Starts) // the middle one is, or is a mean with one, that was ended
		}
	}
	return ms, err
}
