package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"spindle/internal/unit"
	"spindle/reports/record"
	"spindle/workloads/create"
)

// Create makes many small files at once, as fs_mark does (package create). The
// defaults are Dave Chinner's fs_mark -S0 -n 10000 -s 4096 with eight processes,
// but for the rounds, of which he makes 120.
type Create struct {
	Processes   int           `yaml:"processes" json:"processes,omitempty"` // 0 is 8
	Files       int           `yaml:"files" json:"files,omitempty"`         // of each process, each round; 0 is 10000
	Size        unit.Size     `yaml:"size" json:"size,omitempty"`           // of a file; 0 is 4KiB
	Rounds      int           `yaml:"rounds" json:"rounds,omitempty"`       // 0 is 10
	Directories int           `yaml:"directories" json:"directories,omitempty"`
	Sync        string        `yaml:"sync" json:"sync,omitempty"`   // "none" (the default) or "fsync", each file
	Stall       unit.Duration `yaml:"stall" json:"stall,omitempty"` // files that take longer are listed; 0 is 100ms
}

func (w *Create) options() create.Options {
	return create.Options{
		Processes:   orDefault(w.Processes, 8),
		Files:       orDefault(w.Files, 10_000),
		Size:        int64(orDefault(w.Size, 4*unit.KiB)),
		Rounds:      orDefault(w.Rounds, 10),
		Directories: w.Directories,
		Fsync:       w.Sync == "fsync",
		Stall:       orDefault(w.Stall, unit.Duration(100*time.Millisecond)).Std(),
	}
}

func (w *Create) validate() error {
	o := w.options()
	switch {
	case o.Processes < 1 || o.Processes > 1000:
		return fmt.Errorf("create: processes %d: from 1 to 1000", w.Processes)
	case o.Files < 1 || o.Files > 10_000_000:
		return fmt.Errorf("create: files %d: from 1 to 10000000", w.Files)
	case o.Size < 1 || o.Size > int64(unit.GiB):
		return fmt.Errorf("create: size %s: from 1B to 1GiB", w.Size)
	case o.Rounds < 1 || o.Rounds > 100_000:
		return fmt.Errorf("create: rounds %d: from 1 to 100000", w.Rounds)
	case o.Directories < 0 || o.Directories > 1_000_000:
		return fmt.Errorf("create: directories %d: from 0 to 1000000", w.Directories)
	case !slices.Contains([]string{"", "none", "fsync"}, w.Sync):
		return fmt.Errorf("create: sync %q: there are none and fsync", w.Sync)
	case w.Stall < 0:
		return errors.New("create: stall is negative")
	}
	return nil
}

func (w *Create) total() int64 {
	o := w.options()
	return int64(o.Processes) * int64(o.Files) * int64(o.Rounds)
}

func (w *Create) title() string {
	o := w.options()
	t := fmt.Sprintf("create %d files of %s by %d processes", w.total(), spaced(unit.Size(o.Size)), o.Processes)
	if o.Fsync {
		t += ", fsync each"
	}
	return t
}

func (w *Create) slug() string {
	if w.Sync == "fsync" {
		return "create-fsync"
	}
	return "create"
}

func (w *Create) estimate(rate float64) float64 { return float64(w.space()) / rate }

// space counts whole blocks of 4 KiB, and a quarter of one for the inode and its
// name.
func (w *Create) space() unit.Size {
	blocks := unit.Size((w.options().Size + 4095) / 4096)
	return unit.Size(w.total()) * (blocks*4 + 1) * unit.KiB
}

func (w *Create) onDevice() bool { return false }
func (w *Create) onFiles() bool  { return true }

func (w *Create) metrics() []record.MetricInfo {
	return []record.MetricInfo{
		{Name: "files", Unit: "1/s", Direction: record.Higher, Primary: true},
		{Name: "files, slowest round", Unit: "1/s", Direction: record.Higher},
		{Name: "create p50", Unit: "s", Direction: record.Lower},
		{Name: "create p95", Unit: "s", Direction: record.Lower},
		{Name: "create p99", Unit: "s", Direction: record.Lower},
		{Name: "create p99.9", Unit: "s", Direction: record.Lower},
		{Name: "create max", Unit: "s", Direction: record.Lower},
	}
}

func (w *Create) commands() []command                 { return nil }
func (w *Create) prepare(context.Context, *run) error { return nil }

func (w *Create) measure(ctx context.Context, r *run) ([]record.Metric, error) {
	o := w.options()
	o.Dir, o.Report = r.dir, r.out("create.json")
	var rep create.Report
	if err := r.own(ctx, o, o.Report, &rep); err != nil {
		return nil, err
	}
	r.noteStalls(rep.Stalls)
	if len(rep.Rates) == 0 {
		return nil, errors.New("read create's report: no round was made")
	}
	// Rounds are of one size, so the rate over all of them is the harmonic mean.
	inverse := 0.0
	for _, v := range rep.Rates {
		inverse += 1 / v
	}
	h := rep.Times.Times
	return r.values(
		float64(len(rep.Rates))/inverse, slices.Min(rep.Rates),
		h.Quantile(0.5).Seconds(), h.Quantile(0.95).Seconds(), h.Quantile(0.99).Seconds(), h.Quantile(0.999).Seconds(), h.Max().Seconds(),
	)
}
