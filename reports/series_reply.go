package reports

import (
	"fmt"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"spindle/reports/internal/text"
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
