package series

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"spindle/pipeline"
	"spindle/reports"
	"spindle/reports/record"
)

// driftLevel is the rate at which old samples are dropped though nothing
// drifted, for each condition. It is high on purpose: dropping them costs a few
// boots, keeping wrong ones a verdict.
const driftLevel = 0.10

// agree compares what was taken over with what was measured in between, and
// takes back what does not agree. It gives how many samples went; they are to be
// measured.
//
// In virtual time a sample comes out the same again or something is not as it
// was: one that differs sends all back. In real time it is Welch's test of the
// logarithms of each primary metric, at 10 %. What it cannot see is a drift that
// is small against the noise of a few boots; the note says how much that is.
func agree(env pipeline.Env, run string, reuse *reports.Reuse) (dropped int, err error) {
	r, err := record.Resume(run)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	m := r.Manifest()
	samples, err := r.Samples()
	if err != nil {
		return 0, err
	}
	if !slices.ContainsFunc(samples, isBorrowed) {
		return 0, nil // they went before
	}
	reuse.Notes, reuse.Kept = nil, 0
	all := false // send all back
	var back []record.Sample
	for _, c := range m.Conditions {
		var old, fresh []record.Sample
		for _, s := range samples {
			switch {
			case s.Arm != m.Arms[0].Name || s.Condition != c || s.Outcome.Kind != record.OK:
			case isBorrowed(s):
				old = append(old, s)
			default:
				fresh = append(fresh, s)
			}
		}
		if len(old) == 0 {
			continue
		}
		var note string
		var ok bool
		if m.Machine.Accel == "virtual" {
			note, ok = sameAgain(reuse, fresh)
			all = all || !ok
		} else {
			note, ok = compareOld(values(old, primary(m, c)), values(fresh, primary(m, c)))
		}
		if note = fmt.Sprintf("%v: %s", c, note); !ok {
			note += ": dropped, and measured anew"
			back = append(back, old...)
		} else {
			reuse.Kept += len(old)
		}
		reuse.Notes = append(reuse.Notes, note)
		env.Log.Printf("baseline: %s", note)
	}
	if all {
		back, reuse.Kept = nil, 0
		for _, s := range samples {
			if isBorrowed(s) {
				back = append(back, s)
			}
		}
	}
	for _, s := range back {
		if err := r.Withdraw(s.Block, s.Cell, "taken over from an earlier run, with which fresh samples do not agree"); err != nil {
			return dropped, err
		}
		dropped++
	}
	return dropped, nil
}

// primary gives the name of a condition's primary metric.
func primary(m record.Manifest, c record.Condition) string {
	for _, w := range m.Workloads {
		if w.Name != c.Workload {
			continue
		}
		for _, x := range w.Metrics {
			if x.Primary {
				return x.Name
			}
		}
		if len(w.Metrics) > 0 {
			return w.Metrics[0].Name
		}
	}
	return ""
}

// values gives a metric's logarithms.
func values(samples []record.Sample, metric string) []float64 {
	var out []float64
	for _, s := range samples {
		for _, x := range s.Metrics {
			if x.Name == metric && x.Value > 0 {
				out = append(out, math.Log(x.Value))
			}
		}
	}
	return out
}

// compareOld says how old and fresh samples compare, and whether the old ones
// may stay.
func compareOld(old, fresh []float64) (note string, ok bool) {
	if len(old) == 0 || len(fresh) < leastFresh {
		return fmt.Sprintf("%d fresh samples are too few to compare with", len(fresh)), false
	}
	diff := stat.Mean(fresh, nil) - stat.Mean(old, nil)
	nf, no := float64(len(fresh)), float64(len(old))
	vf, vo := stat.Variance(fresh, nil)/nf, 0.0
	df := nf - 1
	if len(old) > 1 {
		vo = stat.Variance(old, nil) / no
	} else {
		vo = vf * nf // one value scatters as the fresh ones do
	}
	if s := vf + vo; s > 0 && len(old) > 1 {
		df = s * s / (vf*vf/(nf-1) + vo*vo/(no-1))
	}
	se := math.Sqrt(vf + vo)
	change := 100 * math.Expm1(diff)
	if se == 0 {
		return fmt.Sprintf("fresh samples differ from old ones by %+.2g %%, without any spread", change), diff == 0
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}
	p := 2 * t.Survival(math.Abs(diff)/se)
	half := t.Quantile(1-driftLevel/2) * se
	return fmt.Sprintf("fresh samples differ from old ones by %+.2g %% (90 %% interval %+.2g to %+.2g)", change,
		100*math.Expm1(diff-half), 100*math.Expm1(diff+half)), p > driftLevel
}

// sameAgain compares samples in virtual time with those of the same blocks in
// the earlier run.
func sameAgain(reuse *reports.Reuse, fresh []record.Sample) (note string, ok bool) {
	old, err := oldRun(reuse.From)
	if err != nil {
		return fmt.Sprintf("the earlier run is gone (%v)", err), false
	}
	samples, err := old.Samples()
	if err != nil {
		return err.Error(), false
	}
	compared := 0
	for _, f := range fresh {
		for _, s := range samples {
			if s.Arm != reuse.Arm || s.Block != f.Block || s.Condition != f.Condition || s.Virtual == nil || f.Virtual == nil {
				continue
			}
			if s.Virtual.Trace != f.Virtual.Trace {
				return fmt.Sprintf("block %d did not come out the same again", f.Block), false
			}
			compared++
		}
	}
	if compared == 0 {
		return "no fresh sample has one of the same block to compare with", false
	}
	return fmt.Sprintf("fresh samples came out the same again, request for request (%d compared)", compared), true
}
