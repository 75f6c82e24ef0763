package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"spindle/reports/internal/text"
	"spindle/reports/record"
	"spindle/reports/stat"
)

// Series is a patch series as its report tells of it: everything that is not in
// the run directory.
type Series struct {
	Format  int           `json:"format"`           // of this file
	Title   string        `json:"title,omitempty"`  // of the cover letter, or of a single patch
	Source  string        `json:"source"`           // where the patches came from, for people
	Each    bool          `json:"each"`             // every prefix was measured, not the whole alone
	Base    string        `json:"base"`             // the arm below the series
	Plan    string        `json:"plan"`             // the plan's file
	Text    string        `json:"text"`             // the plan with the series' arms
	Command []string      `json:"command"`          // that measured it
	Patches []SeriesPatch `json:"patches"`          // in order
	Thread  *Thread       `json:"thread,omitempty"` // to reply to; nil where the patches came in no mails
	Control bool          `json:"control,omitempty"`
	Reuse   *Reuse        `json:"reuse,omitempty"`
}

// SeriesFormat is the number of the form of [Series] in a file.
const SeriesFormat = 1

// SeriesPatch is one patch of a series.
type SeriesPatch struct {
	Number    int    `json:"number"` // counted from 1
	Subject   string `json:"subject"`
	MessageID string `json:"message_id,omitempty"`
	// Arm has this patch and those before it that apply; "" if there is none.
	Arm string `json:"arm,omitempty"`
	// Problem says why it does not apply.
	Problem string `json:"problem,omitempty"`
}

// Thread is what a reply to a series puts into its headers.
type Thread struct {
	Subject    string   `json:"subject"`
	MessageID  string   `json:"message_id"`
	References []string `json:"references,omitempty"`
	To         []string `json:"to,omitempty"`
	Cc         []string `json:"cc,omitempty"`
}

// Reuse says what became of samples of the baseline that an earlier run had.
type Reuse struct {
	From  string   `json:"from"`            // its directory
	Arm   string   `json:"arm,omitempty"`   // that is the same kernel there, with the same settings
	Taken int      `json:"taken"`           // samples taken over
	Kept  int      `json:"kept"`            // of them, after the fresh ones were compared with them
	Notes []string `json:"notes,omitempty"` // why not more, and how old and fresh ones compare
}

// Gate is a series judged.
type Gate struct {
	facts   Series
	a       *analysis // of the whole run; nil where nothing could be measured
	patches []gated
	whole   []*comparison // the last arm against the base
}

// gated is what became of one patch.
type gated struct {
	SeriesPatch
	steps []step // one for each condition and metric
}

// step is a patch's effect under one condition: its arm against the arm before
// it that ran there.
type step struct {
	*comparison
	from  int       // the patch whose arm is the baseline; 0 for the base
	since int       // the patch that broke this already; 0 if none did
	view  *analysis // of the two arms
}

// Judge judges a series. run is nil where no patch applied, so that there was
// nothing to measure.
//
// The effect of patch k is that of its arm against the arm before it, paired in
// blocks. Where that arm broke, the last one that ran there takes its place, and
// the change is that of several patches together. All effects, over patches,
// conditions and metrics, are one family for the false-discovery rate, and the
// last arm against the base is another: it can be worse where no single patch
// stands out.
func (s Series) Judge(run *Report) *Gate {
	g := &Gate{facts: s}
	for _, p := range s.Patches {
		g.patches = append(g.patches, gated{SeriesPatch: p})
	}
	if run == nil {
		return g
	}
	g.a = run.a
	var steps []*comparison
	last := ""
	for i := range g.patches {
		p := &g.patches[i]
		if p.Arm == "" || !slices.Contains(g.a.arms(), p.Arm) {
			continue
		}
		last = p.Arm
		p.steps = g.effects(i)
		for _, x := range p.steps {
			steps = append(steps, x.comparison)
		}
	}
	verdicts := g.a.together(steps)
	for _, k := range g.a.comparisons {
		if k.arm == last {
			g.whole = append(g.whole, k)
		}
	}
	if g.a.control == shaken {
		stat.Void(verdicts)
	}
	return g
}

// effects compares the arm of the patch at i with what it is on top of.
func (g *Gate) effects(i int) []step {
	arm := g.patches[i].Arm
	var out []step
	views := map[string]*analysis{}
	for _, c := range g.a.manifest.Conditions {
		base, from, broken := g.below(i, c)
		view := views[base]
		if view == nil {
			view = g.a.between(base, arm)
			views[base] = view
		}
		for _, k := range view.comparisons {
			if k.condition != c {
				continue
			}
			s := step{comparison: k, from: from, view: view}
			if f := k.finding(); broken > 0 && (f == armBroke || f == bothBroke) {
				s.since = broken
			}
			out = append(out, s)
		}
	}
	return out
}

// below finds the last arm before that of the patch at i that ran under a
// condition, with the number of its patch, and the first patch between whose
// arm broke.
func (g *Gate) below(i int, c record.Condition) (arm string, patch, broken int) {
	for j := i - 1; j >= 0; j-- {
		p := g.patches[j]
		if p.Arm == "" {
			continue
		}
		cell := g.a.cells[record.Cell{Arm: p.Arm, Condition: c}]
		if len(cell) == 0 || slices.ContainsFunc(cell, func(s record.Sample) bool { return s.Outcome.Kind == record.OK }) {
			return p.Arm, p.Number, broken
		}
		broken = p.Number
	}
	return g.facts.Base, 0, broken
}

// between gives the samples of two arms alone, the first as the baseline.
func (a *analysis) between(base, arm string) *analysis {
	s := a.source
	m := s.manifest
	m.Arms = nil
	for _, name := range []string{base, arm} {
		for _, x := range a.manifest.Arms {
			if x.Name == name {
				m.Arms = append(m.Arms, x)
			}
		}
	}
	s.manifest, s.samples = m, nil
	for _, x := range a.samples {
		if x.Arm == base || x.Arm == arm {
			s.samples = append(s.samples, x)
		}
	}
	s.turned = "patch" // what the plan has wrong shows in all arms, not in two
	out := analyse(s)
	out.mistakes = a.mistakes
	for _, k := range out.comparisons {
		k.mistake = len(k.broke) > 0 && !slices.ContainsFunc(k.broke, func(x record.Sample) bool { return !a.mistaken(x) })
	}
	return out
}

// sentence is what is to be said of a patch, from grave to harmless.
type sentence int

const (
	notApplied sentence = iota
	brokeKernel
	madeWorse
	madeBetter
	stillBroken // by an earlier patch: of this one nothing is known
	unclear     // undecided in some condition
	harmless
	unmeasured
)

// sentence gives the gravest thing to say of a patch.
func (p gated) sentence() sentence {
	if p.Problem != "" {
		return notApplied
	}
	out := unmeasured
	for _, s := range p.steps {
		this := harmless
		switch s.finding() {
		case armBroke, bothBroke:
			this = brokeKernel
			if s.since > 0 {
				this = stillBroken
			}
		case worse:
			this = madeWorse
		case better:
			this = madeBetter
		case undecided, noBaseline, baselineBroke, planFault:
			this = unclear
			if !s.metric.Primary {
				continue // a tail of few boots is always open: the primary metric speaks
			}
		}
		out = min(out, this)
	}
	return out
}

// atFault says whether a gate is to close for a patch.
func (s sentence) atFault() bool { return s <= madeWorse }

// fault gives the first patch at fault.
func (g *Gate) fault() (gated, bool) {
	i := slices.IndexFunc(g.patches, func(p gated) bool { return p.sentence().atFault() })
	if i < 0 {
		return gated{}, false
	}
	return g.patches[i], true
}

// wholeWorse gives what the series as a whole made worse or broke.
func (g *Gate) wholeWorse() []*comparison {
	var out []*comparison
	for _, k := range g.whole {
		switch k.finding() {
		case worse, armBroke, bothBroke:
			out = append(out, k)
		}
	}
	return out
}

// Failed says whether a patch, or the series as a whole, made something worse,
// broke the kernel or does not apply.
func (g *Gate) Failed() bool {
	_, ok := g.fault()
	return ok || len(g.wholeWorse()) > 0
}

// Unknown says why nothing is known of the series, though it was measured: its
// base broke. It is "" otherwise.
func (g *Gate) Unknown() string {
	if g.a == nil || len(g.whole) == 0 {
		return ""
	}
	for _, k := range g.whole {
		if k.finding() != baselineBroke {
			return ""
		}
	}
	return fmt.Sprintf("the base, %s, broke in every condition: nothing can be said of the patches", g.facts.Base)
}

// PlanMistakes are what the plan asks for and no arm has, in words.
func (g *Gate) PlanMistakes() []string {
	if g.a == nil {
		return nil
	}
	return g.a.summary().PlanMistakes
}

// label names a patch: "patch 3/5", or "the patch" of a single one.
func (g *Gate) label(p gated) string {
	if len(g.patches) == 1 {
		return "the patch"
	}
	return fmt.Sprintf("patch"+text.NBSP+"%d/%d", p.Number, len(g.patches))
}

// Line gives the verdict in one line: "patch 3/5 'subject': worse".
func (g *Gate) Line() string { return plainText(g.line()) }

func (g *Gate) line() string {
	if p, ok := g.fault(); ok && (g.facts.Each || p.Problem != "") {
		return fmt.Sprintf("%s '%s': %s", g.label(p), p.Subject, p.word())
	}
	whole := "the series"
	if len(g.patches) == 1 {
		whole = "the patch"
	}
	switch {
	case g.a == nil:
		return whole + ": not measured"
	case g.a.control == shaken:
		return "the base compared with itself changed: nothing is claimed"
	case g.Unknown() != "":
		return g.Unknown()
	}
	t := g.total()
	s := whole + ": " + t.counts(true)
	if len(g.a.samples) < g.a.planned {
		s += " (partial)"
	}
	if g.facts.Each && len(g.wholeWorse()) > 0 {
		s += "; no single patch stands out"
	}
	return s
}

// total is the series as a whole, by primary metrics.
func (g *Gate) total() tally {
	t := tally{kinds: map[finding][]*comparison{}}
	for _, k := range g.whole {
		if k.metric.Primary {
			t.of++
			t.kinds[k.finding()] = append(t.kinds[k.finding()], k)
		}
	}
	return t
}

// word says in a few words what became of a patch.
func (p gated) word() string {
	switch p.sentence() {
	case notApplied:
		return "does not apply"
	case brokeKernel:
		for _, s := range p.steps {
			if f := s.finding(); (f == armBroke || f == bothBroke) && s.since == 0 {
				if how := s.how(); how == "does not build" {
					return how
				}
				return s.how() + p.extentOf(func(x step) bool {
					f := x.finding()
					return (f == armBroke || f == bothBroke) && x.since == 0
				})
			}
		}
	case madeWorse:
		return "worse" + p.extent(worse)
	case madeBetter:
		return "better" + p.extent(better)
	case stillBroken:
		for _, s := range p.steps {
			if s.since > 0 {
				return fmt.Sprintf("not known%s: broken since patch"+text.NBSP+"%d", p.extentOf(func(x step) bool { return x.since > 0 }), s.since)
			}
		}
	case unclear:
		return "undecided" + p.extent(undecided)
	case harmless:
		return "no change" + p.extent(noChange)
	}
	return "not measured"
}

// how says how the arm of a step broke: "does not build", "panicked".
func (s step) how() string {
	for _, x := range s.broke {
		if x.Arm != s.arm {
			continue
		}
		switch x.Outcome.Reason {
		case "build", "config":
			return "does not build"
		case "patch":
			return "does not apply"
		}
		return brokeHow(x.Outcome)
	}
	return "breaks"
}

// extent says in how many conditions, by the primary metrics, and how much.
func (p gated) extent(f finding) string {
	var ks []*comparison
	of := 0
	for _, s := range p.steps {
		if !s.metric.Primary {
			continue
		}
		of++
		if s.finding() == f {
			ks = append(ks, s.comparison)
		}
	}
	if len(ks) == 0 { // by another metric alone
		var names []string
		for _, s := range p.steps {
			if s.finding() == f && !slices.Contains(names, s.metric.Name) {
				names = append(names, s.metric.Name)
			}
		}
		if len(names) == 0 { // open for another reason: the base broke, or has no sample
			return ""
		}
		return " by " + text.Clean(strings.Join(names, ", ")) + " alone"
	}
	return fmt.Sprintf(" in"+text.NBSP+"%d of"+text.NBSP+"%s%s", len(ks), plural(of, "condition", "conditions"), detail(f, ks))
}

// extentOf counts conditions by a property of their primary metrics.
func (p gated) extentOf(has func(step) bool) string {
	n, of := 0, 0
	for _, s := range p.steps {
		if s.metric.Primary {
			of++
			if has(s) {
				n++
			}
		}
	}
	return fmt.Sprintf(" in"+text.NBSP+"%d of"+text.NBSP+"%s", n, plural(of, "condition", "conditions"))
}

// gravest sorts steps by what is to be read first.
func gravest(steps []step) []step {
	rank := map[finding]int{armBroke: 0, bothBroke: 0, worse: 1, better: 2}
	out := slices.Clone(steps)
	slices.SortStableFunc(out, func(a, b step) int { return cmp.Compare(rank[a.finding()], rank[b.finding()]) })
	return out
}
