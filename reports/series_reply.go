package reports

import (
	"fmt"
	"maps"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"spindle/reports/internal/text"
	"spindle/reports/record"
	"spindle/reports/stat"
)

// Reply gives the report as a mail: headers for a reply to the cover letter,
// where the series came in mails, and plain text of 72 columns. Who sends it
// adds a From line; git send-email takes the rest as it is. It says what was
// measured, and hands out no tags.
func (g *Gate) Reply() []byte {
	return []byte(g.headers() + g.page().sheet.Plain())
}

// Markdown gives the same without headers, for a forge or a web page.
func (g *Gate) Markdown() []byte { return []byte(g.page().sheet.Markdown()) }

// headers gives the block for a reply, with the empty line behind it.
func (g *Gate) headers() string {
	t := g.facts.Thread
	if t == nil {
		return ""
	}
	subject := t.Subject
	if !strings.HasPrefix(strings.ToLower(subject), "re:") {
		subject = "Re: " + subject
	}
	var b strings.Builder
	b.WriteString(fold("To", mailboxes(t.To), ","))
	b.WriteString(fold("Cc", mailboxes(t.Cc), ","))
	b.WriteString(fold("Subject", strings.Fields(mime.QEncoding.Encode("utf-8", headerText(subject))), ""))
	b.WriteString(fold("In-Reply-To", []string{headerText(t.MessageID)}, ""))
	var references []string
	for _, r := range append(slices.Clone(t.References), t.MessageID) {
		references = append(references, headerText(r))
	}
	b.WriteString(fold("References", references, ""))
	b.WriteString("MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\n")
	return b.String()
}

// headerText keeps foreign text from adding lines to a header.
func headerText(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)), " ")
}

// mailboxes writes addresses so that mail programs take them: names that are
// not ASCII are encoded.
func mailboxes(list []string) []string {
	var out []string
	for _, a := range list {
		a = headerText(a)
		if name, address, ok := strings.Cut(a, " <"); ok {
			switch coded := mime.QEncoding.Encode("utf-8", name); {
			case coded != name:
				name = coded
			case strings.ContainsAny(name, `,.:;@()[]"\`):
				name = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(strings.Trim(name, `"`)) + `"`
			}
			a = name + " <" + address
		}
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// fold writes a header over as many lines as it needs.
func fold(name string, words []string, comma string) string {
	if len(words) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(name + ":")
	column := len(name) + 1
	for i, w := range words {
		if i < len(words)-1 {
			w += comma
		}
		if column+1+len(w) > text.Width && i > 0 {
			b.WriteString("\n")
			column = 0
		}
		b.WriteString(" " + w)
		column += 1 + len(w)
	}
	return b.String() + "\n"
}

// page writes the report.
func (g *Gate) page() *page {
	a := g.a
	if a == nil {
		a = &analysis{}
	}
	p := &page{analysis: a}
	title := capital(g.line())
	if at, ok := g.fault(); ok && utf8.RuneCountInString(title) > text.Width-2 && strings.Contains(title, at.Subject) {
		title = fmt.Sprintf("%s: %s", capital(g.label(at)), at.word()) // the next line has its subject
	}
	p.heading(1, text.Clean(text.Cut(title, text.Width-2)))
	g.opening(p)
	g.list(p)
	if g.a == nil {
		return p
	}
	g.tables(p)
	g.broken(p)
	g.measured(p)
	p.writeNotes()
	return p
}

// opening says what a hurried reader reads.
func (g *Gate) opening(p *page) {
	if at, ok := g.fault(); ok && g.facts.Each && at.Problem == "" {
		p.say("%s, '%s', is the first at fault: %s.", capital(g.label(at)), text.Clean(at.Subject), at.word())
	}
	if n := g.unapplied(); len(n) > 0 {
		behind := "It was left out, and the patches behind it were tried without it."
		if len(n) > 1 {
			behind = "They were left out, and the patches behind them were tried without them."
		}
		switch {
		case g.a == nil:
			p.say("%s to the base, %s, so nothing was built or booted.", capital(doNotApply(n)), text.Clean(g.facts.Base))
		default:
			p.say("%s. %s", capital(doNotApply(n)), behind)
		}
	}
	if g.a == nil {
		return
	}
	if n := len(g.a.samples); n < g.a.planned {
		p.say("**Partial: %d of %s done.** What follows is of these alone.", n, plural(g.a.planned, "sample is", "samples are"))
	}
	if g.a.control == shaken {
		p.say("**The base compared with itself changed, so nothing is claimed.** Whatever made that change may have made the others.")
	}
	if len(g.patches) > 1 || !g.facts.Each {
		whole := "The series as a whole"
		if len(g.patches) == 1 {
			whole = "With the patch"
		}
		s := fmt.Sprintf("%s against %s: %s.", whole, text.Clean(g.facts.Base), g.total().counts(true))
		if _, ok := g.fault(); g.facts.Each && !ok && len(g.wholeWorse()) > 0 {
			s += " No single patch stands out: each may be too small to see."
		}
		p.say("%s%s", s, g.others())
	}
	if bound := p.cpuBoundRows(); bound > 0 {
		p.say("CPU-bound: %s, in %d of %s.", p.cpuNote(), bound, plural(len(g.a.manifest.Conditions), "condition", "conditions"))
	}
	p.say("%s", p.counted())
}

func doNotApply(numbers []int) string {
	if len(numbers) == 1 {
		return fmt.Sprintf("patch"+text.NBSP+"%d does not apply", numbers[0])
	}
	return "patches" + text.NBSP + spans(numbers) + " do not apply"
}

// unapplied gives the numbers of the patches that do not apply.
func (g *Gate) unapplied() []int {
	var out []int
	for _, p := range g.patches {
		if p.Problem != "" {
			out = append(out, p.Number)
		}
	}
	return out
}

// others says what the metrics beside the primary ones show of the whole.
func (g *Gate) others() string {
	names := map[finding][]string{}
	of := 0
	for _, k := range g.whole {
		if k.metric.Primary {
			continue
		}
		of++
		if f, name := k.finding(), text.Clean(k.metric.Name); !slices.Contains(names[f], name) {
			names[f] = append(names[f], name)
		}
	}
	switch {
	case of == 0:
		return ""
	case len(names[worse])+len(names[better]) == 0:
		return fmt.Sprintf(" Of %s by other metrics none is worse or better.", plural(of, "comparison", "comparisons"))
	}
	var parts []string
	for _, f := range []finding{worse, better} {
		if len(names[f]) > 0 {
			parts = append(parts, string(f)+" somewhere: "+strings.Join(names[f], ", "))
		}
	}
	return " Of the other metrics, " + strings.Join(parts, "; ") + "."
}

// list says a line or two of each patch.
func (g *Gate) list(p *page) {
	if len(g.patches) < 2 && g.a != nil {
		return
	}
	title := "Patch by patch"
	if !g.facts.Each {
		title = "Patches"
	}
	p.heading(2, title)
	var items []string
	for _, x := range g.patches {
		s := fmt.Sprintf("%d/%d '%s'", x.Number, len(g.patches), text.Clean(x.Subject))
		if g.facts.Each || x.Problem != "" {
			s += ": " + x.word()
		}
		if x.Problem != "" {
			s += ": " + text.Clean(text.Cut(x.Problem, 400))
		}
		items = append(items, s)
	}
	p.list(items)
}

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

// broken points to the evidence of what broke, once for each patch and way.
func (g *Gate) broken(p *page) {
	var items []string
	seen := map[string]bool{}
	for _, x := range g.patches {
		for _, s := range x.steps {
			for _, b := range s.broke {
				key := x.Arm + b.Outcome.Reason
				if b.Arm != x.Arm || seen[key] || s.since > 0 {
					continue
				}
				seen[key] = true
				items = append(items, fmt.Sprintf("%s %s: run/%s", g.label(x), s.how(), p.evidence(b)))
			}
		}
	}
	if len(items) > 0 {
		p.heading(2, "What broke")
		p.list(items)
	}
}

// measured writes what a reader of the mail needs to believe the numbers, in
// short: the run's own report has all of it.
func (g *Gate) measured(p *page) {
	p.heading(2, "How it was measured")
	m := p.manifest
	blocks := len(m.Blocks)
	how := fmt.Sprintf("The base and %s, each with fresh guests and file systems, side by side in %s. A change is claimed with a 95"+text.NBSP+"%% interval that excludes zero and a false-discovery rate of %.0f"+text.NBSP+"%% over all patches, conditions and metrics (%s).",
		g.armsSaid(), plural(blocks, "block", "blocks"), 100*fdr, plural(g.familySize(), "comparison", "comparisons"))
	p.say("%s", how)
	var items []string
	for _, k := range m.Kernels {
		if k.Name == m.Arms[0].Kernel {
			items = append(items, text.Clean(fmt.Sprintf("base: %s, %s, hash %s, config %s", k.Version, k.Source, short(k.Hash), short(k.ConfigHash))))
		}
	}
	items = append(items, text.Clean("series: "+g.facts.Source))
	if s := settingsOf(m.Arms[0]); s != "" {
		items = append(items, text.Clean("settings of all kernels: "+s))
	}
	items = append(items, p.guestItem(), p.machineItem())
	for _, d := range p.driveItems() {
		if !strings.HasPrefix(d, "model of ") {
			items = append(items, d)
		}
	}
	items = append(items, p.filesystemItems()...)
	items = append(items, g.reuseItems()...)
	if m.Machine.Accel != "virtual" {
		items = append(items, p.hostItem())
	}
	if len(g.facts.Command) > 0 {
		items = append(items, text.Clean(fmt.Sprintf("spindle %s: %s", m.Spindle, strings.Join(g.facts.Command, " "))))
	}
	p.list(slices.DeleteFunc(items, func(s string) bool { return s == "" }))
}

// armsSaid says what was measured beside the base.
func (g *Gate) armsSaid() string {
	n := 0
	for _, x := range g.patches {
		if x.Arm != "" {
			n++
		}
	}
	switch {
	case len(g.patches) == 1:
		return "the patch"
	case !g.facts.Each:
		return "the whole series"
	}
	return plural(n, "prefix of the series", "prefixes of the series")
}

// familySize is the number of effects that the false-discovery rate is of.
func (g *Gate) familySize() int {
	n := 0
	for _, s := range g.shown() {
		if counts(s.verdict) {
			n++
		}
	}
	return n
}

// reuseItems says what was not measured anew.
func (g *Gate) reuseItems() []string {
	r := g.facts.Reuse
	if r == nil {
		return nil
	}
	s := fmt.Sprintf("baseline: %s taken over from an earlier run", plural(r.Kept, "sample", "samples"))
	if r.Kept < r.Taken {
		s += fmt.Sprintf(" (of %d, the others did not agree with fresh ones and were measured anew)", r.Taken)
	}
	if len(r.Notes) > 0 {
		s += ": " + strings.Join(r.Notes, "; ")
	}
	return []string{text.Clean(s)}
}

// cases gives one test for each patch and condition, and one for the whole
// series and each condition.
func (g *Gate) cases() []test {
	var out []test
	for _, x := range g.patches {
		suite := plainText(g.label(x)) + " " + x.Subject
		if x.Problem != "" {
			out = append(out, test{suite: suite, name: "applies", failure: "does not apply", said: []string{oneLine(x.Problem)}})
			continue
		}
		if g.facts.Each {
			out = append(out, g.casesOf(suite, x.steps)...)
		}
	}
	if g.a == nil || g.facts.Each && len(g.patches) == 1 {
		return out
	}
	var whole []step
	for _, k := range g.whole {
		whole = append(whole, step{comparison: k, view: g.a})
	}
	return append(out, g.casesOf("the whole series", whole)...)
}

// casesOf gathers the metrics of each condition.
func (g *Gate) casesOf(suite string, steps []step) []test {
	by := map[record.Condition][]step{}
	for _, s := range steps {
		by[s.condition] = append(by[s.condition], s)
	}
	var out []test
	for _, c := range g.a.manifest.Conditions {
		if len(by[c]) == 0 {
			out = append(out, test{suite: suite, name: c.String(), skipped: "not measured"})
			continue
		}
		t := test{suite: suite, name: c.String()}
		var bad []string
		for _, s := range gravest(by[c]) {
			unit := g.a.unit(c, s.metric)
			p := g.pageOf(s, nil)
			t.said = append(t.said, fmt.Sprintf("%s: %s, %s", s.metric.Name, s.finding(), p.bare(s.comparison, unit)))
			switch f := s.finding(); {
			case s.since > 0:
				t.skipped = fmt.Sprintf("broken since patch %d", s.since)
			case f == armBroke || f == bothBroke:
				bad = append(bad, s.how())
			case f == worse:
				bad = append(bad, s.metric.Name+" worse")
			case s.metric.Primary && (f == undecided || f == baselineBroke || f == planFault):
				t.skipped = string(f)
			}
		}
		slices.Sort(bad)
		if bad = slices.Compact(bad); len(bad) > 0 {
			t.failure, t.skipped = strings.Join(bad, ", "), ""
		}
		t.said = plainAll(t.said)
		out = append(out, t)
	}
	return out
}

// JUnit gives the verdicts in JUnit's form, one case for each patch and
// condition.
func (g *Gate) JUnit() ([]byte, error) { return junitOf(g.name(), g.cases()) }

// TAP gives the same in the Test Anything Protocol.
func (g *Gate) TAP() []byte {
	var warnings []string
	if g.a != nil {
		warnings = g.a.warnings
	}
	return tapOf(warnings, g.cases())
}

// name is what a test report is called: the plan's name, or the series' title.
func (g *Gate) name() string {
	if g.a != nil {
		return g.a.manifest.Name
	}
	return "series " + g.facts.Title
}

// Formats of [Gate.Render].
func gateFormats() map[string]func(*Gate) ([]byte, error) {
	return map[string]func(*Gate) ([]byte, error){
		"mail":  func(g *Gate) ([]byte, error) { return g.Reply(), nil },
		"md":    func(g *Gate) ([]byte, error) { return g.Markdown(), nil },
		"junit": (*Gate).JUnit,
		"tap":   func(g *Gate) ([]byte, error) { return g.TAP(), nil },
	}
}

// GateFormats names what [Gate.Render] can give.
func GateFormats() []string { return slices.Sorted(maps.Keys(gateFormats())) }

// WriteTo puts reply.txt, reply.md, junit.xml and results.tap into dir.
func (g *Gate) WriteTo(dir string) error {
	junit, err := g.JUnit()
	if err != nil {
		return fmt.Errorf("report %s: %w", dir, err)
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{"junit.xml", junit}, {"results.tap", g.TAP()}, {"reply.md", g.Markdown()}, {"reply.txt", g.Reply()}} {
		if err := put(dir, f.name, f.data); err != nil {
			return err
		}
	}
	return nil
}

// Render gives the report in one piece, by a name of [GateFormats].
func (g *Gate) Render(format string) ([]byte, error) {
	f, ok := gateFormats()[format]
	if !ok {
		return nil, fmt.Errorf("no format %q: want one of %s", format, strings.Join(GateFormats(), ", "))
	}
	return f(g)
}
