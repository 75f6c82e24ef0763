package workloads

import (
	"context"
	"errors"
	"fmt"

	"spindle/internal/unit"
	"spindle/reports/record"
	"spindle/workloads/age"
)

// Age makes a file system old and tells in how many pieces its files lie then
// (package age). The defaults are spindle's own.
type Age struct {
	Rounds  int       `yaml:"rounds" json:"rounds,omitempty"`   // 0 is 8
	Writers int       `yaml:"writers" json:"writers,omitempty"` // processes at the same time; 0 is 8
	Files   int       `yaml:"files" json:"files,omitempty"`     // of all of them, each round; 0 is 64. Every second one is deleted
	Size    unit.Size `yaml:"size" json:"size,omitempty"`       // of a file, on average; 0 is 4MiB
	Write   unit.Size `yaml:"write" json:"write,omitempty"`     // a system call; 0 is 64KiB
}

// AgeFile is age.Report, every round.
const AgeFile = "age.json"

// Describe says what is done, as a report does.
func (w *Age) Describe() string { return w.title() }

func (w *Age) options() age.Options {
	return age.Options{
		Rounds:  orDefault(w.Rounds, 8),
		Writers: orDefault(w.Writers, 8),
		Files:   orDefault(w.Files, 64),
		Size:    int64(orDefault(w.Size, 4*unit.MiB)),
		Write:   int64(orDefault(w.Write, 64*unit.KiB)),
	}
}

func (w *Age) validate() error {
	o := w.options()
	switch {
	case o.Rounds < 1 || o.Rounds > 10_000:
		return fmt.Errorf("age: rounds %d: from 1 to 10000", w.Rounds)
	case o.Writers < 1 || o.Writers > 1000:
		return fmt.Errorf("age: writers %d: from 1 to 1000", w.Writers)
	case o.Files < 2*o.Writers || o.Files > 1_000_000:
		return fmt.Errorf("age: files %d: at least two of each of %d writers, and at most 1000000", o.Files, o.Writers)
	case o.Size < 1 || o.Size > int64(unit.TiB):
		return fmt.Errorf("age: size %s: from 1B to 1TiB", w.Size)
	case o.Write < 1 || o.Write > int64(unit.GiB):
		return fmt.Errorf("age: write %s: from 1B to 1GiB", w.Write)
	}
	return nil
}

func (w *Age) title() string {
	o := w.options()
	return fmt.Sprintf("age, %d rounds of %d files of %s by %d writers", o.Rounds, o.Files, spaced(unit.Size(o.Size)), o.Writers)
}

func (w *Age) slug() string { return "age" }

// estimate counts what is written, and after each round what is there is read.
func (w *Age) estimate(rate float64) float64 {
	o := w.options()
	round := float64(o.Files) * float64(o.Size)
	reads := float64(o.Rounds*(o.Rounds+1)) / 2 * round / 2
	return (float64(o.Rounds)*round + reads) / rate
}

// space is that of the files which stay, and of a round's, all a tenth larger
// than their mean.
func (w *Age) space() unit.Size {
	o := w.options()
	return unit.Size(float64(o.Rounds+1) / 2 * float64(o.Files) * float64(o.Size) * 1.1)
}

func (w *Age) onDevice() bool { return false }
func (w *Age) onFiles() bool  { return true }

func (w *Age) metrics() []record.MetricInfo {
	return []record.MetricInfo{
		{Name: "extents per file", Unit: "1", Direction: record.Lower, Primary: true},
		{Name: "mean extent", Unit: "B", Direction: record.Higher},
		{Name: "discontiguities per file", Unit: "1", Direction: record.Lower},
		{Name: "re-read, first round", Unit: "B/s", Direction: record.Higher},
		{Name: "re-read, last round", Unit: "B/s", Direction: record.Higher},
		{Name: "written", Unit: "B/s", Direction: record.Higher},
	}
}

func (w *Age) commands() []command                 { return nil }
func (w *Age) prepare(context.Context, *run) error { return nil }

func (w *Age) measure(ctx context.Context, r *run) ([]record.Metric, error) {
	o := w.options()
	o.Dir, o.Report, o.Seed = r.dir, r.out(AgeFile), r.job.Seed
	o.Caches = r.sys.sysctl("vm.drop_caches")
	var rep age.Report
	if err := r.own(ctx, o, o.Report, &rep); err != nil {
		return nil, err
	}
	if len(rep.Rounds) == 0 {
		return nil, errors.New("read age's report: no round was made")
	}
	first, last := rep.Rounds[0], rep.Rounds[len(rep.Rounds)-1]
	var written, seconds float64
	for _, x := range rep.Rounds {
		written, seconds = written+float64(x.Written), seconds+x.WriteSeconds
	}
	if last.Files == 0 {
		return nil, errors.New("read age's report: no file is left")
	}
	return r.values(
		last.PerFile(), last.Mean(), float64(last.Discontiguities)/float64(last.Files),
		perSecond(float64(first.Read), first.ReadSeconds), perSecond(float64(last.Read), last.ReadSeconds),
		perSecond(written, seconds),
	)
}
