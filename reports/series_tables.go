package reports

import (
	"fmt"
	"slices"
	"strings"

	"spindle/reports/internal/text"
	"spindle/reports/record"
	"spindle/reports/stat"
)

// shown is what stands in the tables: each patch against the one before, or the
// whole against the base.
func (g *Gate) shown() []step {
	var out []step
	for _, x := range g.patches {
		out = append(out, x.steps...)
	}
	return out
}

// number gives the patch or patches of a step: "3", or "3-4" where the arm
// between did not run.
func (g *Gate) number(s step) string {
	for _, x := range g.patches {
		if x.Arm != s.arm {
			continue
		}
		if !g.facts.Each {
			return fmt.Sprintf("1-%d", x.Number)
		}
		if s.from < x.Number-1 && slices.ContainsFunc(g.patches, func(y gated) bool { return y.Arm != "" && y.Number > s.from && y.Number < x.Number }) {
			return fmt.Sprintf("%d-%d", s.from+1, x.Number)
		}
		return fmt.Sprint(x.Number)
	}
	return s.arm
}

// tables writes one table for each workload: its primary metric in full, and of
// the others what changed.
func (g *Gate) tables(p *page) {
	steps := g.shown()
	p.common = g.common(steps)
	for _, group := range p.groups() {
		title := text.Clean(group.workload.Title) + constant(group.conditions)
		if p.severalDrives() {
			title = text.Clean(group.drive) + ": " + title
		}
		p.heading(2, title)
		for i, m := range p.metrics(group.conditions[0]) {
			var rows []step
			for _, s := range steps {
				claim := s.finding() == worse || s.finding() == better
				if s.metric.Name == m.Name && slices.Contains(group.conditions, s.condition) && (i == 0 || claim) {
					rows = append(rows, s)
				}
			}
			if len(rows) == 0 {
				continue
			}
			said := capital(p.caption(group, m))
			if i > 0 {
				said += "; what changed"
			} else {
				said += p.sizes(group)
			}
			if g.facts.Each {
				said = strings.TrimSuffix(said, ".") + ". Each patch against what it is on top of."
			}
			p.say("%s", said)
			g.table(p, group, m, rows)
		}
	}
}

// common gives the doubts that all steps share; they are said once.
func (g *Gate) common(steps []step) []string {
	var out []string
	first := true
	for _, s := range steps {
		if !counts(s.verdict) {
			continue
		}
		these := g.pageOf(s, nil).allDoubts(s.comparison)
		if first {
			out, first = these, false
		}
		out = slices.DeleteFunc(slices.Clone(out), func(w string) bool { return !slices.Contains(these, w) })
	}
	return out
}

// pageOf gives a page on which a step's own two arms are the arms, with the
// notes of p.
func (g *Gate) pageOf(s step, p *page) *page {
	view := *s.view
	view.comparisons = nil
	for _, x := range g.shown() {
		view.comparisons = append(view.comparisons, x.comparison) // the family
	}
	out := &page{analysis: &view}
	if p != nil {
		out.common, out.notes = p.common, p.notes
	}
	return out
}

// table writes the rows of one metric.
func (g *Gate) table(p *page, group group, m record.MetricInfo, rows []step) {
	unit := p.unit(group.conditions[0], m)
	axes := varying(group.conditions)
	var lines []line
	var list, numbers []string
	for _, s := range rows {
		view := g.pageOf(s, p)
		l := line{s.condition, view.describe(view.baseline(), s.condition, m), view.describe(s.arm, s.condition, m), ""}
		switch f := s.finding(); {
		case s.since > 0:
			l.last = fmt.Sprintf("broken since patch"+text.NBSP+"%d", s.since)
		case f == armBroke || f == bothBroke: // What broke has the evidence
			l.last = s.how()
		default:
			l.last = view.cell(s.comparison, unit)
		}
		p.notes = view.notes
		lines, numbers = append(lines, l), append(numbers, g.number(s))
		list = append(list, fmt.Sprintf("patch %s: %s without, %s with it: %s", strings.Join(append([]string{g.number(s)}, axes.labels(s.condition)...), ", "),
			value(l.base, unit, " ± "), value(l.this, unit, " ± "), l.last))
	}
	var layouts []layout
	for _, st := range styles {
		if !st.arms || !st.labels {
			continue // numbers in place of names do not read well in a mail
		}
		for _, last := range []string{"change, 95" + text.NBSP + "% interval", "change"} {
			l := st.layout(axes, "without", "with", last, lines, func(v stat.Summary) string {
				if st.pm == "" || isTail(m) {
					return meanOnly(v, unit)
				}
				return value(v, unit, st.pm)
			})
			l.Head = append([]string{"patch"}, l.Head...)
			l.Right = append([]bool{false}, l.Right...)
			for i := range l.Rows {
				l.Rows[i] = append([]string{numbers[i]}, l.Rows[i]...)
			}
			layouts = append(layouts, l)
		}
	}
	// Without intervals of the means: that of the change is the one to read.
	narrow := style{"", true, true}.layout(axes, "without", "with", "change", lines, func(v stat.Summary) string { return meanOnly(v, unit) })
	narrow.Head = append([]string{"patch"}, narrow.Head...)
	narrow.Right = append([]bool{false}, narrow.Right...)
	for i := range narrow.Rows {
		narrow.Rows[i] = append([]string{numbers[i]}, narrow.Rows[i]...)
	}
	p.table(append(layouts, narrow), list)
}

// varying gives the axes in which conditions differ; what is the same in all of
// them is said above the table.
func varying(cs []record.Condition) axes {
	return slices.DeleteFunc(axesOf(cs), func(x axis) bool {
		return !slices.ContainsFunc(cs, func(c record.Condition) bool { return x.of(c) != x.of(cs[0]) })
	})
}

// constant says what is the same in all conditions of a table.
func constant(cs []record.Condition) string {
	var out []string
	for _, x := range axesOf(cs) {
		if !slices.ContainsFunc(varying(cs), func(v axis) bool { return v.head == x.head }) {
			out = append(out, text.Clean(x.of(cs[0])))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return ", " + strings.Join(out, ", ")
}
