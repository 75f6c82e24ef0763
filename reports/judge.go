package reports

import (
	"strings"

	"spindle/reports/record"
	"spindle/reports/stat"
)

// control is what the arms say that are the baseline once more.
type control int

const (
	uncontrolled control = iota // there is no such arm
	steady                      // it did not change, as it must be
	shaken                      // it did: no claim of the run can be believed
)

// judge sets the verdicts of all comparisons. Those of an arm that is the
// baseline once more are a family of their own: they check the claims of the
// others, and are none of them. Where one of them stands, the others fall.
func (a *analysis) judge() {
	var arms, twins []*comparison
	for _, k := range a.comparisons {
		if a.twin(k.arm) {
			twins = append(twins, k)
		} else {
			arms = append(arms, k)
		}
	}
	others, own := a.together(arms), a.together(twins)
	for _, v := range own {
		if a.control == uncontrolled {
			a.control = steady
		}
		if v.Kind == stat.Better || v.Kind == stat.Worse {
			a.control = shaken
		}
	}
	if a.control == shaken {
		stat.Void(others)
	}
}

// together judges comparisons as one family and gives their verdicts.
func (a *analysis) together(ks []*comparison) []*stat.Verdict {
	var cs []stat.Comparison
	for _, k := range ks {
		cs = append(cs, stat.Comparison{
			Metric: a.statMetric(k.metric), Pairs: k.pairs, Broken: k.verdict.Kind == stat.Broken,
			Family: a.workload(k.condition).Name + "\x00" + k.metric.Name,
		})
	}
	var out []*stat.Verdict
	for i, v := range stat.Judge(cs, fdr) {
		ks[i].verdict = v
		out = append(out, &ks[i].verdict)
	}
	return out
}

// statMetric says what the comparison must know of a metric.
func (a *analysis) statMetric(m record.MetricInfo) stat.Metric {
	s := stat.Metric{Direction: direction(m), Resolution: m.Resolution}
	if isTail(m) {
		s.Shape = stat.Tail
	}
	if auto := a.manifest.Auto; auto != nil {
		s.Looks = len(stat.Auto{Most: auto.Most}.Looks())
	}
	return s
}

// isTail says whether a metric is made by the worst few requests of a boot:
// by its name, "fsync max", "read p99.9".
func isTail(m record.MetricInfo) bool {
	words := strings.Fields(strings.ToLower(m.Name))
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	return last == "max" || last == "maximum" || strings.HasPrefix(last, "p9") || strings.HasPrefix(last, "9") && strings.Contains(m.Name, "percentile")
}

// known says what a metric's value tells.
func known(m record.Metric) stat.Known {
	switch {
	case !m.Limited:
		return stat.Exact
	case m.Direction == record.Higher:
		return stat.AtMost
	}
	return stat.AtLeast
}

// limitMark stands before a value of which only a bound is known.
func limitMark(k stat.Known) string {
	return map[stat.Known]string{stat.AtLeast: ">=", stat.AtMost: "<="}[k]
}

// first says which sample of a pair ran first.
func first(base, arm record.Sample) stat.First {
	switch {
	case base.Started.IsZero() || arm.Started.IsZero() || base.Started.Equal(arm.Started):
		return stat.UnknownFirst
	case base.Started.Before(arm.Started):
		return stat.BaseFirst
	}
	return stat.ArmFirst
}
