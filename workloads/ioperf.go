package workloads

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"spindle/internal/fault"
	"spindle/internal/unit"
	"spindle/reports/record"
	"spindle/workloads/ioperf"
)

// Ioperf is the I/O of a database server: Andres Freund's ioperf of March 2014
// (package ioperf). The defaults are the published ones but for the time, of which
// that has none. He says to make the data twice the memory.
type Ioperf struct {
	Data     unit.Size     `yaml:"data" json:"data,omitempty"`         // of the data file; 0 is 48GiB
	WAL      unit.Size     `yaml:"wal" json:"wal,omitempty"`           // of the log; 0 is 1GiB
	Readers  int           `yaml:"readers" json:"readers,omitempty"`   // 0 is 16
	Duration unit.Duration `yaml:"duration" json:"duration,omitempty"` // 0 is 30m
	// Random is "shared" (the default: all processes visit the same places, as
	// the original's do) or "independent".
	Random string `yaml:"random" json:"random,omitempty"`
	// Offsets is "unaligned" (the default: bytes, as the original's are) or
	// "aligned" (blocks of 8 KiB).
	Offsets string `yaml:"offsets" json:"offsets,omitempty"`
	// CheckpointWrites is how many blocks are overwritten between fsyncs; 0 is
	// 100000. The tweak of April 2014 for large write caches is 500000.
	CheckpointWrites int            `yaml:"checkpoint-writes" json:"checkpoint_writes,omitempty"`
	CheckpointPause  *unit.Duration `yaml:"checkpoint-pause" json:"checkpoint_pause,omitempty"` // after each; nil is 200us, the tweak 70us
	// Commits is "steady" (the default: a record each ms and every fifth
	// committed, as the original's are) or "jittered", with a further pause of up
	// to 17 ms after each commit. Steady commits keep step with the turns of a
	// disk without a cache that lasts, so that their median is a matter of the
	// angle at which a boot began.
	Commits string        `yaml:"commits" json:"commits,omitempty"`
	Stall   unit.Duration `yaml:"stall" json:"stall,omitempty"` // what takes longer has stalled; 0 is 100ms
}

// checkpointMax is the one metric that a run may be without.
const checkpointMax = "checkpoint max"

const (
	jittered = "jittered"
	// commitJitter is two turns of a disk of 7200 rpm, and more than one of any:
	// what is drawn evenly from it meets the platters at any angle.
	commitJitter = 17 * time.Millisecond
	// turns is what a commit takes at least if it waits for platters.
	turns = 3 * time.Millisecond
)

// leastDuration is the shortest run that means something: the log alone takes
// a second for some hundred commits.
const leastDuration = time.Second

func (w *Ioperf) options() ioperf.Options {
	o := ioperf.Options{
		Data:             int64(orDefault(w.Data, 48*unit.GiB)),
		WAL:              int64(orDefault(w.WAL, unit.GiB)),
		Readers:          orDefault(w.Readers, 16),
		Independent:      w.Random == "independent",
		Aligned:          w.Offsets == "aligned",
		CheckpointWrites: orDefault(w.CheckpointWrites, 100_000),
		CheckpointPause:  200 * time.Microsecond,
		WALPause:         time.Millisecond,
		Duration:         orDefault(w.Duration, unit.Duration(30*time.Minute)).Std(),
		Stall:            orDefault(w.Stall, unit.Duration(100*time.Millisecond)).Std(),
	}
	if w.CheckpointPause != nil {
		o.CheckpointPause = w.CheckpointPause.Std()
	}
	if w.Commits == jittered {
		o.CommitPause = commitJitter
	}
	return o
}

func (w *Ioperf) validate() error {
	o := w.options()
	switch {
	case o.Data < int64(unit.MiB) || o.Data%ioperf.Block != 0:
		return fmt.Errorf("ioperf: data %s: write a multiple of 8KiB, at least 1MiB", w.Data)
	case o.WAL < int64(unit.MiB) || o.WAL%ioperf.Block != 0:
		return fmt.Errorf("ioperf: wal %s: write a multiple of 8KiB, at least 1MiB", w.WAL)
	case o.Readers < 1 || o.Readers > 1000:
		return fmt.Errorf("ioperf: readers %d: from 1 to 1000", w.Readers)
	case !slices.Contains([]string{"", "shared", "independent"}, w.Random):
		return fmt.Errorf("ioperf: random %q: there are shared and independent", w.Random)
	case !slices.Contains([]string{"", "steady", jittered}, w.Commits):
		return fmt.Errorf("ioperf: commits %q: there are steady and jittered", w.Commits)
	case !slices.Contains([]string{"", "unaligned", "aligned"}, w.Offsets):
		return fmt.Errorf("ioperf: offsets %q: there are unaligned and aligned", w.Offsets)
	case o.CheckpointWrites < 1:
		return fmt.Errorf("ioperf: checkpoint-writes %d: at least 1", w.CheckpointWrites)
	case o.Duration < leastDuration:
		return fmt.Errorf("ioperf: duration %s: at least 1s", w.Duration)
	case o.CheckpointPause < 0 || o.Stall < 0:
		return errors.New("ioperf: a time is negative")
	}
	return nil
}

func (w *Ioperf) title() string {
	o := w.options()
	t := fmt.Sprintf("ioperf, %s data, %d readers, %s", spaced(unit.Size(o.Data)), o.Readers, unit.Duration(o.Duration))
	for _, x := range []string{w.Random, w.Offsets} {
		if x == "independent" || x == "aligned" {
			t += ", " + x
		}
	}
	if w.Commits == jittered {
		t += ", jittered commits"
	}
	return t
}

func (w *Ioperf) slug() string {
	s := "ioperf"
	for _, x := range []string{w.Random, w.Offsets, w.Commits} {
		if x == "independent" || x == "aligned" || x == jittered {
			s += "-" + x
		}
	}
	return s
}

func (w *Ioperf) estimate(float64) float64 { return w.options().Duration.Seconds() }

func (w *Ioperf) space() unit.Size {
	o := w.options()
	return unit.Size(o.Data + o.WAL + 2*ioperf.Block)
}

func (w *Ioperf) onDevice() bool { return false }
func (w *Ioperf) onFiles() bool  { return true }

func (w *Ioperf) metrics() []record.MetricInfo {
	ms := []record.MetricInfo{{Name: "read p99", Unit: "s", Direction: record.Lower, Primary: true}}
	add := func(unit string, d record.Direction, names ...string) {
		for _, n := range names {
			ms = append(ms, record.MetricInfo{Name: n, Unit: unit, Direction: d})
		}
	}
	add("s", record.Lower, "read mean", "read p50", "read p95", "read p99.9", "read max")
	add("1/s", record.Higher, "reads")
	add("s", record.Lower, "commit mean", "commit p50", "commit p95", "commit p99", "commit max")
	add("1/s", record.Higher, "commits")
	add("s", record.Lower, "wal mean", "wal max")
	add("1/s", record.Higher, "checkpoint writes")
	add("1", record.Higher, "checkpoints")
	add("s", record.Lower, checkpointMax)
	add("1", record.Lower, "stalled reads", "stalled commits")
	return ms
}

func (w *Ioperf) commands() []command { return nil }

func (w *Ioperf) prepare(_ context.Context, r *run) error {
	o := w.options()
	o.Dir = r.dir
	if err := ioperf.Prepare(o); err != nil {
		return fault.New(fault.Kernel, "workload", fmt.Errorf("make the files: %w", err))
	}
	return nil
}

func (w *Ioperf) measure(ctx context.Context, r *run) ([]record.Metric, error) {
	o := w.options()
	o.Dir, o.Report = r.dir, r.out("ioperf.json")
	// srandom takes 32 bits; the original gives it the time of day.
	o.Seed = uint32(r.job.Seed ^ r.job.Seed>>32)
	var rep ioperf.Report
	if err := r.own(ctx, o, o.Report, &rep); err != nil {
		return nil, err
	}
	r.noteStalls(rep.Stalls)
	seconds := rep.Seconds()
	read, commit, wal := rep.Read.Times, rep.Commit.Times, rep.WAL.Times
	if read.N() == 0 || commit.N() == 0 || !(seconds > 0) {
		return nil, fmt.Errorf("read ioperf's report: %d reads and %d commits in %g s", read.N(), commit.N(), seconds)
	}
	if rep.Sync.Times.N() == 0 {
		r.warn("ioperf: no checkpoint was reached in %.0f s (%d writes of %d)", seconds, rep.Checkpoint.Times.N(), o.CheckpointWrites)
	}
	if r.result.Settings["rotational"] == "1" && o.CommitPause == 0 && commit.Quantile(0.5) > turns {
		r.warn("ioperf: its commits wait for the disk's platters and keep step with them, so their median can move by a whole turn from boot to boot with nothing changed; commits: jittered does not keep step")
	}
	stalled := map[string]float64{}
	for _, s := range rep.Stalls {
		stalled[s.Op]++
	}
	q := func(h interface{ Quantile(float64) time.Duration }, p float64) float64 {
		return h.Quantile(p / 100).Seconds()
	}
	ms, err := r.values(
		q(read, 99), read.Mean().Seconds(), q(read, 50), q(read, 95), q(read, 99.9), read.Max().Seconds(), float64(read.N())/seconds,
		commit.Mean().Seconds(), q(commit, 50), q(commit, 95), q(commit, 99), commit.Max().Seconds(), float64(commit.N())/seconds,
		wal.Mean().Seconds(), wal.Max().Seconds(),
		float64(rep.Checkpoint.Times.N())/seconds, float64(rep.Sync.Times.N()), rep.Sync.Times.Max().Seconds(),
		stalled["read"]+float64(rep.Read.Lost), stalled["commit"]+float64(rep.Commit.Lost),
	)
	if rep.Sync.Times.N() == 0 { // none has no longest; 0 would be the best there is
		ms = slices.DeleteFunc(ms, func(m record.Metric) bool { return m.Name == checkpointMax })
	}
	return ms, err
}

// perSecond is a rate, and 0 of no time.
func perSecond(n, seconds float64) float64 {
	if !(seconds > 0) || math.IsInf(seconds, 0) {
		return 0
	}
	return n / seconds
}
