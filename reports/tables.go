package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"spindle/reports/internal/text"
	"spindle/reports/record"
	"spindle/reports/stat"
)

// unit picks the unit that a table shows a metric in: one for all conditions
// of a drive and a workload, so that rows can be compared by eye.
func (a *analysis) unit(c record.Condition, m record.MetricInfo) scale {
	var means []float64
	for _, other := range a.manifest.Conditions {
		if other.Drive != c.Drive || other.Workload != c.Workload {
			continue
		}
		for _, arm := range a.manifest.Arms {
			if s := stat.Describe(a.values(record.Cell{Arm: arm.Name, Condition: other}, m.Name)); s.N > 0 && s.Mean != 0 {
				means = append(means, math.Abs(s.Mean))
			}
		}
	}
	return scaleFor(m.Unit, means)
}

// group is the conditions that share a drive and a workload: one section.
type group struct {
	drive      string
	workload   record.Workload
	conditions []record.Condition
}

// groups gives the sections in the order of the manifest, by drive first.
func (a *analysis) groups() []group {
	var out []group
	var drives []string
	for _, c := range a.manifest.Conditions {
		if !slices.Contains(drives, c.Drive) {
			drives = append(drives, c.Drive)
		}
	}
	for _, d := range drives {
		at := len(out)
		for _, c := range a.manifest.Conditions {
			if c.Drive != d {
				continue
			}
			i := slices.IndexFunc(out[at:], func(g group) bool { return g.conditions[0].Workload == c.Workload })
			if i < 0 {
				out = append(out, group{drive: d, workload: a.workload(c)})
				i = len(out) - 1 - at
			}
			out[at+i].conditions = append(out[at+i].conditions, c)
		}
	}
	return out
}

// severalDrives says whether conditions must be told apart by drive.
func (a *analysis) severalDrives() bool {
	return slices.ContainsFunc(a.manifest.Conditions, func(c record.Condition) bool { return c.Drive != a.manifest.Conditions[0].Drive })
}

// results writes the sections of all workloads.
func (p *page) results() {
	for _, g := range p.groups() {
		title := text.Clean(g.workload.Title)
		if p.severalDrives() {
			title = text.Clean(g.drive) + ": " + title
		}
		p.heading(2, title)
		for i, m := range p.metrics(g.conditions[0]) {
			if i > 0 {
				p.heading(3, text.Clean(m.Name))
			}
			p.say("%s%s", capital(p.caption(g, m)), p.sizes(g))
			if i == 0 {
				p.figure(record.Slug("values", g.drive, g.workload.Name), "Every sample of "+m.Name+", with the mean and its interval")
			}
			if !slices.ContainsFunc(g.conditions, func(c record.Condition) bool { return p.reported(c, m.Name) }) {
				p.say("No sample gave a value.")
				continue
			}
			if len(p.arms()) == 0 {
				p.values1(g, m)
			}
			for _, arm := range p.arms() {
				if len(p.arms()) > 1 {
					p.say("%s against %s:", text.Clean(arm), text.Clean(p.baseline()))
				}
				p.compared(g, m, arm)
			}
		}
		p.aside(g)
		p.pictures(g)
	}
}

// pictures puts the plots of a section's conditions behind its tables.
func (p *page) pictures(g group) {
	for _, c := range g.conditions {
		at := []string{c.Drive, c.Filesystem, c.Scheduler, g.workload.Name}
		if c.Setup != "" {
			at = append(at, c.Setup)
		}
		for _, x := range []struct{ kind, title string }{
			{"time", "counters over time, every sample"}, {"iostat", "one sample of each arm over time"},
			{"requests", "requests to the drive over time"}, {"writeback", "what writeback did over time"},
		} {
			p.figure(record.Slug(append([]string{x.kind}, at...)...), p.label(g, c)+": "+x.title)
		}
		for _, what := range latencyKinds {
			p.figure(record.Slug(append([]string{"latency-" + what}, at...)...), p.label(g, c)+": "+what+" latencies")
		}
	}
}

// caption says what a table's numbers are: "runtime in s, less is better".
func (p *page) caption(g group, m record.MetricInfo) string {
	s := text.Clean(m.Name)
	if u := p.unit(g.conditions[0], m).name; u != "" {
		s += " in" + text.NBSP + u
	}
	if m.Direction == record.Higher {
		return s + ", more is better"
	}
	return s + ", less is better"
}

// sizes says how many boots the numbers of a section come from.
func (p *page) sizes(g group) string {
	low, high := math.MaxInt, 0
	for _, c := range g.conditions {
		for _, arm := range p.manifest.Arms {
			n := len(p.cells[record.Cell{Arm: arm.Name, Condition: c}])
			low, high = min(low, n), max(high, n)
		}
	}
	switch {
	case high == 0:
		return "; no sample yet."
	case low == high:
		return fmt.Sprintf("; n"+text.NBSP+"="+text.NBSP+"%s each.", plural(low, "boot", "boots"))
	}
	return fmt.Sprintf("; n"+text.NBSP+"="+text.NBSP+"%d to %d boots.", low, high)
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// style is a way to lay out a table, from wide to narrow.
type style struct {
	pm     string // between mean and half width; "" leaves the half width out
	arms   bool   // arms are called by their names
	labels bool   // conditions too, not by numbers
}

var styles = []style{
	{" ± ", true, true}, {"±", true, true}, {" ± ", false, true}, {"±", false, true},
	{" ± ", true, false}, {" ± ", false, false}, {"±", false, false}, {"", false, true}, {"", false, false},
}

// line is one row of a table of comparisons.
type line struct {
	condition  record.Condition
	base, this stat.Summary
	last       string
}

// compared writes the table of one arm against the baseline.
func (p *page) compared(g group, m record.MetricInfo, arm string) {
	unit := p.unit(g.conditions[0], m)
	base := p.baseline()
	axes := axesOf(g.conditions)
	var lines []line
	var list []string
	for _, c := range g.conditions {
		l := line{c, p.describe(base, c, m), p.describe(arm, c, m), "not run yet"}
		if k := p.find(arm, c, m.Name); k != nil {
			l.last = p.cell(k, unit)
		}
		lines = append(lines, l)
		list = append(list, fmt.Sprintf("%s: %s %s, %s %s: %s", strings.Join(axes.labels(c), " "),
			text.Clean(base), value(l.base, unit, " ± "), text.Clean(arm), value(l.this, unit, " ± "), l.last))
	}
	var layouts []layout
	for _, s := range styles {
		for _, last := range []string{"change, 95" + text.NBSP + "% interval", "change"} {
			layouts = append(layouts, s.layout(axes, base, arm, last, lines, func(v stat.Summary) string {
				if s.pm == "" || isTail(m) { // a tail has no normal interval
					return meanOnly(v, unit)
				}
				return value(v, unit, s.pm)
			}))
		}
	}
	p.table(layouts, list)
}

func (a *analysis) describe(arm string, c record.Condition, m record.MetricInfo) stat.Summary {
	return stat.Describe(a.values(record.Cell{Arm: arm, Condition: c}, m.Name))
}

// layout gives the table in a style. What has no name in it is in the legend.
func (s style) layout(axes axes, base, arm, last string, lines []line, show func(stat.Summary) string) layout {
	var l layout
	if s.labels {
		l.Head = axes.heads()
	} else {
		l.Head = []string{"condition"}
	}
	l.Right = append(make([]bool, len(l.Head)), true, true)
	if s.arms {
		l.Head = append(l.Head, text.Clean(base), text.Clean(arm), last)
	} else {
		l.Head = append(l.Head, "baseline", "arm", last)
		l.legend = append(l.legend, "baseline: "+text.Clean(base), "arm: "+text.Clean(arm))
	}
	for i, x := range lines {
		labels := axes.labels(x.condition)
		if !s.labels {
			number := fmt.Sprintf("(%d)", i+1)
			l.legend = append(l.legend, number+" "+strings.Join(labels, ", "))
			labels = []string{number}
		}
		l.Rows = append(l.Rows, append(labels, show(x.base), show(x.this), x.last))
	}
	return l
}

// values1 writes the table of a run with one arm.
func (p *page) values1(g group, m record.MetricInfo) {
	unit := p.unit(g.conditions[0], m)
	axes := axesOf(g.conditions)
	arm := text.Clean(p.baseline())
	t := text.Table{Head: append(axes.heads(), text.Cut(arm, 24)), Right: append(make([]bool, len(axes)), true)}
	var list []string
	for _, c := range g.conditions {
		cell := record.Cell{Arm: p.baseline(), Condition: c}
		v := value(stat.Describe(p.values(cell, m.Name)), unit, " ± ")
		var broke []string
		for _, s := range p.cells[cell] {
			if s.Outcome.Kind != record.OK {
				broke = append(broke, p.evidence(s))
			}
		}
		v += p.notes.refer(broke)
		t.Rows = append(t.Rows, append(axes.labels(c), v))
		list = append(list, strings.Join(axes.labels(c), " ")+": "+v)
	}
	p.table([]layout{{Table: t}}, list)
}

// cell gives a row's last cell: the change, or what stands in its place.
func (p *page) cell(k *comparison, unit scale) string {
	v := k.verdict
	mark := p.notes.refer(p.doubts(k))
	switch v.Kind {
	case stat.Broken:
		when := brokeWhen(p.cells[record.Cell{Arm: k.arm, Condition: k.condition}])
		if f := k.finding(); f != armBroke && (f != planFault || when == "") {
			when = string(f)
		}
		return when + mark
	case stat.NoChange:
		if math.IsNaN(v.MDE) {
			return "none (all equal)" + mark
		}
		return "none (> " + seen(v, unit) + " shows)" + mark
	case stat.Undecided:
		switch {
		case k.noBase:
			return "? (no baseline yet)" + mark
		case v.Why == stat.FewPairs && v.N == 0:
			return "? (no pair)" + mark
		case v.Why == stat.FewPairs:
			return fmt.Sprintf("? (%s)", plural(v.N, "pair", "pairs")) + mark
		case v.Why == stat.FewRanks:
			return fmt.Sprintf("? %s (%s)", change(v, unit), plural(v.N, "pair", "pairs")) + mark
		case v.Why == stat.Noise && math.IsInf(v.MDE, 0):
			return "? " + change(v, unit) + mark
		case v.Why == stat.Noise:
			return "? (> " + seen(v, unit) + " shows)" + mark
		}
		return "? " + change(v, unit) + mark
	}
	return change(v, unit) + mark
}

// axes are the columns that tell a section's conditions apart.
type axes []axis

type axis struct {
	head string
	of   func(record.Condition) string
}

// axesOf picks filesystem and scheduler where there are any.
func axesOf(cs []record.Condition) axes {
	var out axes
	for _, x := range []axis{
		{"fs", func(c record.Condition) string { return c.Filesystem }},
		{"scheduler", func(c record.Condition) string { return c.Scheduler }},
		{"arm", func(c record.Condition) string { return c.Setup }},
	} {
		if slices.ContainsFunc(cs, func(c record.Condition) bool { return x.of(c) != "" }) {
			out = append(out, x)
		}
	}
	return out
}

func (as axes) heads() []string {
	var out []string
	for _, x := range as {
		out = append(out, x.head)
	}
	return out
}

func (as axes) labels(c record.Condition) []string {
	var out []string
	for _, x := range as {
		out = append(out, text.Clean(x.of(c)))
	}
	return out
}
