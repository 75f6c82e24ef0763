package reports

import (
	"math"
	"slices"

	"spindle/reports/record"
	"spindle/reports/stat"
)

// fdr is the share of claims that may be chance.
const fdr = 0.05

// analysis is a run with all its comparisons judged.
type analysis struct {
	source
	cells       map[record.Cell][]record.Sample // by block
	comparisons []*comparison                   // by condition, metric, arm
	control     control
	mistakes    []mistake
}

// comparison is one arm against the baseline by one metric.
type comparison struct {
	arm       string
	pairs     []stat.Pair
	condition record.Condition
	metric    record.MetricInfo
	verdict   stat.Verdict
	broke     []record.Sample // of either arm
	mistake   bool            // all of them for a mistake of the plan
	noBase    bool            // the baseline has no sample yet
}

// analyse judges what a source holds.
func analyse(s source) *analysis {
	a := &analysis{source: s, cells: map[record.Cell][]record.Sample{}}
	for _, s := range a.samples { // sorted by block
		a.cells[s.Cell] = append(a.cells[s.Cell], s)
	}
	if a.turned == "" {
		a.mistakes = a.findMistakes()
	}
	for _, c := range a.manifest.Conditions {
		for _, m := range a.metrics(c) {
			for _, arm := range a.arms() {
				if k := a.compare(arm, c, m); k != nil {
					a.comparisons = append(a.comparisons, k)
				}
			}
		}
	}
	a.judge()
	return a
}

// baseline is the arm that the others are compared with.
func (a *analysis) baseline() string { return a.manifest.Arms[0].Name }

// arms are those that are compared with the baseline.
func (a *analysis) arms() []string {
	var out []string
	for _, arm := range a.manifest.Arms[1:] {
		out = append(out, arm.Name)
	}
	return out
}

// workload gives what the manifest says of a condition's workload.
func (a *analysis) workload(c record.Condition) record.Workload {
	name := c.Workload
	if name == "" { // workloads are what is compared: they share their metrics
		name = a.baseline()
	}
	for _, w := range a.manifest.Workloads {
		if w.Name == name {
			return w
		}
	}
	return record.Workload{Name: name, Title: name}
}

// metrics gives a condition's metrics, the primary one first.
func (a *analysis) metrics(c record.Condition) []record.MetricInfo {
	ms := slices.Clone(a.workload(c).Metrics)
	if i := slices.IndexFunc(ms, func(m record.MetricInfo) bool { return m.Primary }); i > 0 {
		primary := ms[i]
		ms = slices.Insert(slices.Delete(ms, i, i+1), 0, primary)
	}
	for i := range ms {
		ms[i].Primary = i == 0
	}
	return ms
}

// values gives what the samples of a cell measured, by block.
func (a *analysis) values(cell record.Cell, metric string) (out []float64) {
	for _, s := range a.cells[cell] {
		if v, _, ok := measured(s, metric); ok {
			out = append(out, v)
		}
	}
	return out
}

// measured gives a sample's value; a sample that broke has none that counts.
func measured(s record.Sample, metric string) (float64, stat.Known, bool) {
	if s.Outcome.Kind != record.OK {
		return math.NaN(), stat.Exact, false
	}
	for _, m := range s.Metrics {
		if m.Name == metric {
			return m.Value, known(m), true
		}
	}
	return math.NaN(), stat.Exact, false
}

// reported says whether any sample of a condition has a metric, or none could
// have: all broke, or there are none.
func (a *analysis) reported(c record.Condition, metric string) bool {
	could := false
	for _, s := range a.samples {
		if s.Condition == c && s.Outcome.Kind == record.OK {
			could = true
			if _, _, ok := measured(s, metric); ok {
				return true
			}
		}
	}
	return !could
}

// compare judges one comparison. It is nil where neither arm has a sample, or
// no sample the metric.
func (a *analysis) compare(arm string, c record.Condition, m record.MetricInfo) *comparison {
	base, this := a.cells[record.Cell{Arm: a.baseline(), Condition: c}], a.cells[record.Cell{Arm: arm, Condition: c}]
	if len(base) == 0 && len(this) == 0 || !a.reported(c, m.Name) {
		return nil
	}
	k := &comparison{arm: arm, condition: c, metric: m}
	var pairs []stat.Pair
	for _, b := range base {
		for _, s := range this {
			if b.Block == s.Block { // a block that lacks one is not done yet
				p := stat.Pair{Block: b.Block}
				p.Base, p.BaseKnown, _ = measured(b, m.Name)
				p.Arm, p.ArmKnown, _ = measured(s, m.Name)
				p.First = first(b, s)
				pairs = append(pairs, p)
			}
		}
	}
	for _, s := range append(slices.Clone(base), this...) {
		if s.Outcome.Kind != record.OK {
			k.broke = append(k.broke, s)
		}
	}
	k.pairs = pairs
	k.verdict = a.statMetric(m).Compare(pairs)
	// An arm that breaks in any block is broken. Where only the baseline broke,
	// the arm is judged by the blocks in which it did not, if those are enough
	// to judge by.
	armBroke := slices.ContainsFunc(k.broke, func(s record.Sample) bool { return s.Arm == arm })
	k.mistake = len(k.broke) > 0 && !slices.ContainsFunc(k.broke, func(s record.Sample) bool { return !a.mistaken(s) })
	// Before the baseline has a sample nobody knows that it does not break too.
	k.noBase = len(base) == 0 && !k.mistake && a.laidOut(record.Cell{Arm: a.baseline(), Condition: c})
	if len(k.broke) > 0 && !k.noBase && (armBroke || k.verdict.Why == stat.FewPairs) {
		k.verdict.Kind, k.verdict.Why = stat.Broken, stat.None
	}
	return k
}

// laidOut says whether a cell has its place in the run.
func (a *analysis) laidOut(cell record.Cell) bool {
	return slices.ContainsFunc(a.manifest.Blocks, func(b []record.Cell) bool { return slices.Contains(b, cell) })
}

func direction(m record.MetricInfo) stat.Direction {
	if m.Direction == record.Higher {
		return stat.Higher
	}
	return stat.Lower
}

// find gives the comparison of a row, or nil.
func (a *analysis) find(arm string, c record.Condition, metric string) *comparison {
	for _, k := range a.comparisons {
		if k.arm == arm && k.condition == c && k.metric.Name == metric {
			return k
		}
	}
	return nil
}
