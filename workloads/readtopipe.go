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
	"spindle/workloads/pipe"
)

// ReadToPipe is Jens Axboe's read-to-pipe-async (package pipe): a file is read and
// written to a pipe without coordinated omission. The defaults are those of his
// test of April 2016, "reading a 5g file, and rewriting it".
type ReadToPipe struct {
	File  unit.Size `yaml:"file" json:"file,omitempty"` // to read; 0 is 5GiB
	Block unit.Size `yaml:"bs" json:"bs,omitempty"`     // read at once; 0 is 4KiB
	// Wait is how long a read may take before the next begins, and what counts
	// as over; 0 is 10ms.
	Wait unit.Duration `yaml:"wait" json:"wait,omitempty"`
	// To is "file" (the default: a second process writes it back to the drive,
	// and a sync ends the run), "gzip" (the same, with a gzip file and gzip -dc)
	// or "null".
	To    string        `yaml:"to" json:"to,omitempty"`
	Stall unit.Duration `yaml:"stall" json:"stall,omitempty"` // what takes longer is listed; 0 is 100ms
}

func (w *ReadToPipe) options() pipe.Options {
	return pipe.Options{
		Size:    int64(orDefault(w.File, 5*unit.GiB)),
		Block:   int(orDefault(w.Block, 4*unit.KiB)),
		Wait:    orDefault(w.Wait, unit.Duration(10*time.Millisecond)).Std(),
		Rewrite: w.To != "null",
		Gzip:    w.To == "gzip",
		Stall:   orDefault(w.Stall, unit.Duration(100*time.Millisecond)).Std(),
	}
}

func (w *ReadToPipe) validate() error {
	o := w.options()
	switch {
	case o.Size < 1:
		return fmt.Errorf("read-to-pipe: file %s: want at least 1B", w.File)
	case w.Block < 0 || orDefault(w.Block, 4*unit.KiB) > 64*unit.MiB:
		return fmt.Errorf("read-to-pipe: bs %s: write at most 64MiB", w.Block)
	case o.Wait < time.Microsecond:
		return fmt.Errorf("read-to-pipe: wait %s: want at least 1us", w.Wait)
	case !slices.Contains([]string{"", "file", "gzip", "null"}, w.To):
		return fmt.Errorf("read-to-pipe: to %q: there are file, gzip and null", w.To)
	case w.Stall < 0:
		return errors.New("read-to-pipe: stall is negative")
	}
	return nil
}

func (w *ReadToPipe) title() string {
	t := "read-to-pipe " + spaced(unit.Size(w.options().Size))
	switch w.To {
	case "null":
	case "gzip":
		t += ", gunzip and rewrite"
	default:
		t += ", rewrite"
	}
	return t
}

func (w *ReadToPipe) slug() string {
	switch w.To {
	case "gzip", "null":
		return "read-to-pipe-" + w.To
	}
	return "read-to-pipe"
}

func (w *ReadToPipe) estimate(rate float64) float64 {
	o := w.options()
	s := float64(o.Size) / rate
	if o.Rewrite {
		s *= 2
	}
	return s
}

func (w *ReadToPipe) space() unit.Size {
	o := w.options()
	if o.Rewrite {
		return unit.Size(2 * o.Size)
	}
	return unit.Size(o.Size)
}

func (w *ReadToPipe) onDevice() bool { return false }
func (w *ReadToPipe) onFiles() bool  { return true }

func (w *ReadToPipe) metrics() []record.MetricInfo {
	ms := []record.MetricInfo{
		{Name: "read p99", Unit: "s", Direction: record.Lower, Primary: true},
		{Name: "runtime", Unit: "s", Direction: record.Lower},
	}
	for _, side := range []string{"read", "write"} {
		for _, q := range []string{"p50", "p95", "p99", "p99.9", "max"} {
			if side != "read" || q != "p99" {
				ms = append(ms, record.MetricInfo{Name: side + " " + q, Unit: "s", Direction: record.Lower})
			}
		}
		ms = append(ms,
			record.MetricInfo{Name: side + "s over the wait", Unit: "1", Direction: record.Lower},
			record.MetricInfo{Name: side + " rate", Unit: "B/s", Direction: record.Higher},
		)
	}
	return ms
}

func (w *ReadToPipe) commands() []command {
	if w.To == "gzip" {
		return []command{{name: "gzip", version: []string{"--version"}, pack: "gzip"}}
	}
	return nil
}

func (w *ReadToPipe) prepare(_ context.Context, r *run) error {
	o := w.options()
	o.Dir, o.Seed = r.dir, r.job.Seed
	if err := pipe.Prepare(o); err != nil {
		return fault.New(fault.Kernel, "workload", fmt.Errorf("make the input: %w", err))
	}
	return nil
}

func (w *ReadToPipe) measure(ctx context.Context, r *run) ([]record.Metric, error) {
	o := w.options()
	o.Dir, o.Report = r.dir, r.out("read-to-pipe.json")
	if err := r.dropCaches(); err != nil {
		return nil, err
	}
	var rep pipe.Report
	if err := r.own(ctx, o, o.Report, &rep); err != nil {
		return nil, err
	}
	r.noteStalls(rep.Stalls)
	if rep.Read.Times.Times.N() == 0 || rep.Write.Times.Times.N() == 0 {
		return nil, errors.New("read read-to-pipe's report: nothing was read")
	}
	q := func(s pipe.Side, p float64) float64 { return s.Times.Times.Quantile(p / 100).Seconds() }
	vs := []float64{q(rep.Read, 99), rep.Seconds}
	for i, s := range []pipe.Side{rep.Read, rep.Write} {
		vs = append(vs, q(s, 50), q(s, 95))
		if i == 1 {
			vs = append(vs, q(s, 99))
		}
		vs = append(vs, q(s, 99.9), s.Times.Times.Max().Seconds(), float64(s.Over), perSecond(float64(s.Bytes), s.Seconds))
	}
	return r.values(vs...)
}
