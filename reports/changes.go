package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"spindle/reports/internal/text"
	"spindle/reports/record"
	"spindle/reports/stat"
)

// changes writes the tables of all that changed or broke, the gravest first.
func (p *page) changes() {
	if len(p.arms()) == 0 {
		return
	}
	p.heading(2, "What changed")
	any := false
	for _, arm := range p.arms() {
		claims := p.claims(arm)
		if len(claims) == 0 {
			continue
		}
		any = true
		if len(p.arms()) > 1 {
			p.say("%s against %s:", text.Clean(arm), text.Clean(p.baseline()))
		}
		p.claimed(claims)
	}
	switch {
	case len(p.comparisons) == 0:
		p.say("Nothing is measured yet.")
	case !any && !slices.ContainsFunc(p.comparisons, func(k *comparison) bool { return !k.noBase }):
		p.say("Nothing can be said yet: the baseline has no sample.")
	case !any:
		p.say("Nothing that stands. The tables below say what would have been seen.")
	}
}

// claims gives what is to be said of an arm: what broke, then what is worse,
// then what is better; primary metrics before others, large before small.
func (p *page) claims(arm string) []*comparison {
	var out []*comparison
	for _, k := range p.comparisons {
		if k.arm != arm {
			continue
		}
		switch k.verdict.Kind {
		case stat.Worse, stat.Better:
			out = append(out, k)
		case stat.Broken:
			if k.metric.Primary { // once, not for each metric
				out = append(out, k)
			}
		}
	}
	rank := map[stat.Kind]int{stat.Broken: 0, stat.Worse: 1, stat.Better: 2}
	after := map[bool]int{true: 0, false: 1}
	slices.SortStableFunc(out, func(a, b *comparison) int {
		return cmp.Or(
			cmp.Compare(after[a.verdict.Kind == stat.Broken], after[b.verdict.Kind == stat.Broken]),
			cmp.Compare(after[a.metric.Primary], after[b.metric.Primary]),
			cmp.Compare(rank[a.verdict.Kind], rank[b.verdict.Kind]),
			-cmp.Compare(math.Abs(a.verdict.Change), math.Abs(b.verdict.Change)),
		)
	})
	return out
}

// claimed writes claims as one table where that fits, or else one for each
// metric.
func (p *page) claimed(claims []*comparison) {
	all := text.Table{Head: []string{"", "where", "what", "change, 95" + text.NBSP + "% interval"}}
	var whats []string
	by := map[string]text.Table{}
	lists := map[string][]string{}
	for _, k := range claims {
		kind, where, what, delta := k.verdict.Kind.String(), p.where(k.condition), p.what(k), p.delta(k)
		all.Rows = append(all.Rows, []string{kind, where, what, delta})
		if !slices.Contains(whats, what) {
			whats = append(whats, what)
		}
		t := by[what]
		t.Head = []string{"", "where", "change"}
		t.Rows = append(t.Rows, []string{kind, where, delta})
		by[what] = t
		lists[what] = append(lists[what], fmt.Sprintf("%s: %s: %s", kind, where, delta))
	}
	if all.Fits(p.sheet.Columns()) {
		p.table([]layout{{Table: all}}, nil)
		return
	}
	for _, what := range whats {
		p.say("%s:", what)
		p.table([]layout{{Table: by[what]}}, lists[what])
	}
}

// delta gives a claim's change with its unit, or how it broke.
func (p *page) delta(k *comparison) string {
	unit := p.unit(k.condition, k.metric)
	s := p.cell(k, unit)
	if k.verdict.Kind != stat.Broken && k.verdict.Scale == stat.Difference && unit.name != "" {
		s += text.NBSP + unit.name
	}
	return s
}

// where names a condition without its workload.
func (p *page) where(c record.Condition) string {
	if !p.severalDrives() {
		c.Drive = ""
	}
	c.Workload = ""
	return text.Clean(c.String())
}

// what names a metric with its workload, where there are several.
func (p *page) what(k *comparison) string {
	w := p.workload(k.condition).Name
	switch {
	case k.verdict.Kind == stat.Broken:
		return text.Clean(w)
	case len(p.manifest.Workloads) > 1:
		return text.Clean(w + " " + k.metric.Name)
	}
	return text.Clean(k.metric.Name)
}
