package reports

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"spindle/reports/internal/text"
	"spindle/reports/record"
	"spindle/reports/stat"
)

// Summary is what a run came to, in numbers.
type Summary struct {
	Done, Planned int // samples
	// Primary counts the verdicts on the primary metric of each condition and
	// arm, Other those on all other metrics. Broken is where the arm itself
	// broke, with or without the baseline. A run with one arm has no verdicts
	// but Broken in Primary: the conditions in which it broke.
	Primary, Other map[stat.Kind]int
	// BaselineBroke counts the comparisons by primary metrics in which the
	// baseline alone broke, so that nothing is known of the arm.
	BaselineBroke int
	// PlanMistakes are what the plan asks for and no arm has, in words. What
	// broke for them is in none of the numbers above.
	PlanMistakes []string
	// Warnings are what is wrong with the run directory itself, where a report
	// could be made all the same.
	Warnings []string

	line string
}

// Failed says whether any verdict is worse, or the kernel under test broke:
// that of an arm, or of the only arm. A baseline that broke alone is no fault
// of the arm's.
func (s Summary) Failed() bool {
	return s.Primary[stat.Worse]+s.Primary[stat.Broken]+s.Other[stat.Worse]+s.Other[stat.Broken] > 0
}

// Line gives the verdict in one line, as the report's title has it.
func (s Summary) Line() string { return s.line }

func (a *analysis) summary() Summary {
	s := Summary{Done: len(a.samples), Planned: a.planned, Primary: map[stat.Kind]int{}, Other: map[stat.Kind]int{}}
	for _, k := range a.comparisons {
		switch {
		case k.finding() == planFault:
		case k.finding() == baselineBroke:
			if k.metric.Primary {
				s.BaselineBroke++
			}
		case k.metric.Primary:
			s.Primary[k.verdict.Kind]++
		default:
			s.Other[k.verdict.Kind]++
		}
	}
	s.Warnings = a.warnings
	for _, m := range a.mistakes {
		s.PlanMistakes = append(s.PlanMistakes, strings.ReplaceAll(m.String(), text.NBSP, " "))
	}
	if broke, _ := a.brokenAlone(); broke > 0 && len(a.arms()) == 0 {
		s.Primary[stat.Broken] = broke
	}
	s.line = strings.ReplaceAll(a.title(), text.NBSP, " ")
	return s
}

// tally is the primary verdicts of one arm.
type tally struct {
	of    int
	kinds map[finding][]*comparison
}

func (a *analysis) tally(arm string) tally {
	t := tally{kinds: map[finding][]*comparison{}}
	for _, k := range a.comparisons {
		if k.arm == arm && k.metric.Primary {
			t.of++
			t.kinds[k.finding()] = append(t.kinds[k.finding()], k)
		}
	}
	return t
}

// counts gives "breaks in 1, worse in 2 of 4 conditions (+13 to +15 %)"; what
// is not there is left out, unless nothing is.
func (t tally) counts(ranges bool) string {
	var parts []string
	for _, kind := range []finding{armBroke, bothBroke, baselineBroke, planFault, worse, better, noChange, undecided, noBaseline} {
		ks := t.kinds[kind]
		if len(ks) == 0 {
			continue
		}
		part := fmt.Sprintf("%s in"+text.NBSP+"%d", kind, len(ks))
		if len(parts) == 0 {
			part += fmt.Sprintf(" of"+text.NBSP+"%s", plural(t.of, "condition", "conditions"))
		}
		if ranges {
			part += detail(kind, ks)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return "nothing to compare yet"
	}
	return strings.Join(parts, ", ")
}

// grave leaves out what needs no look.
func (t tally) grave() tally {
	t.kinds = maps.Clone(t.kinds)
	delete(t.kinds, noChange)
	delete(t.kinds, undecided)
	delete(t.kinds, noBaseline)
	return t
}

// detail gives the range of changes, or what would have been seen.
func detail(kind finding, ks []*comparison) string {
	switch kind {
	case worse, better:
		if r := rangeOf(ks); r != "" {
			return " (" + r + ")"
		}
	case noChange:
		most := math.NaN()
		for _, k := range ks {
			if k.verdict.Scale == stat.Ratio && !(k.verdict.MDE <= most) {
				most = k.verdict.MDE
			}
		}
		if !math.IsNaN(most) {
			return " (" + share(most) + " would have shown)"
		}
	}
	return ""
}

// rangeOf gives "+13.2 to +15 %" for changes that are ratios, each rounded as
// the tables have it.
func rangeOf(ks []*comparison) string {
	least, most := ks[0].verdict, ks[0].verdict
	for _, k := range ks {
		if k.verdict.Scale != stat.Ratio {
			return ""
		}
		if k.verdict.Change < least.Change {
			least = k.verdict
		}
		if k.verdict.Change > most.Change {
			most = k.verdict
		}
	}
	low, high := estimate(least, scale{}), estimate(most, scale{})
	if low == high {
		return low
	}
	percent := text.NBSP + "%"
	if strings.HasSuffix(high, percent) {
		low = strings.TrimSuffix(low, percent)
	}
	return low + text.NBSP + "to" + text.NBSP + high
}

// title is the verdict in one line of at most 70 columns: the fullest wording
// that fits.
func (a *analysis) title() string {
	name, base := text.Clean(a.manifest.Name), text.Clean(a.baseline())
	partial := ""
	if len(a.samples) < a.planned {
		partial = " (partial)"
	}
	arms := a.arms()
	if claimants := a.claimants(); len(claimants) > 0 {
		arms = claimants
	}
	var bodies []string
	switch {
	case a.control == shaken && len(a.claimants()) > 0:
		bodies = []string{"A/A changed: nothing is claimed"}
	case len(arms) == 0:
		bodies = []string{base + " alone: measured, compared with nothing", "measured, compared with nothing"}
		if broke, of := a.brokenAlone(); broke > 0 {
			s := fmt.Sprintf("breaks in %d of %s", broke, plural(of, "condition", "conditions"))
			bodies = []string{base + " alone: " + s, s}
		} else if len(a.mistakes) > 0 {
			bodies = []string{base + " alone: plan at fault", "plan at fault"}
		}
	case len(arms) == 1:
		t, arm := a.tally(arms[0]), text.Clean(arms[0])
		against := arm + " against " + base
		if a.twin(arms[0]) {
			against = "A/A"
		}
		for _, ranges := range []bool{true, false} {
			bodies = append(bodies, against+": "+t.counts(ranges))
		}
		bodies = append(bodies, t.counts(true), t.counts(false), t.grave().counts(false))
	default:
		var words []string
		all := tally{kinds: map[finding][]*comparison{}}
		for _, arm := range arms {
			t := a.tally(arm)
			words = append(words, text.Clean(arm)+" "+t.worst())
			all.of += t.of
			for kind, ks := range t.kinds {
				all.kinds[kind] = append(all.kinds[kind], ks...)
			}
		}
		bodies = []string{
			strings.Join(words, ", ") + " vs " + base, strings.Join(words, ", "),
			fmt.Sprintf("%d arms: %s", len(arms), strings.Replace(all.counts(false), "condition", "comparison", 1)),
		}
	}
	for _, b := range bodies {
		for _, prefix := range []string{name + ": ", ""} {
			if t := prefix + b + partial; len([]rune(t)) <= text.Width-2 {
				return t
			}
		}
	}
	return text.Cut(bodies[len(bodies)-1], text.Width-2-len(partial)) + partial
}

// worst gives the gravest thing to say of an arm: "worse in 2 of 4".
func (t tally) worst() string {
	// Where both broke the arm did, too.
	if n := len(t.kinds[armBroke]) + len(t.kinds[bothBroke]); n > 0 {
		return fmt.Sprintf("%s in %d of %d", armBroke, n, t.of)
	}
	for _, kind := range []finding{planFault, worse, baselineBroke, better, undecided, noBaseline, noChange} {
		if n := len(t.kinds[kind]); n > 0 {
			return fmt.Sprintf("%s in %d of %d", kind, n, t.of)
		}
	}
	return "not compared"
}

// rebuilt says whether an arm's kernel is another than the baseline's.
func (a *analysis) rebuilt(arm string) bool {
	kernels := a.kernelHashes()
	for _, x := range a.manifest.Arms {
		if x.Name == arm {
			return kernels[x.Kernel] != kernels[a.manifest.Arms[0].Kernel]
		}
	}
	return false
}

// kernelHashes gives the identity of each kernel by its name.
func (a *analysis) kernelHashes() map[string]string {
	kernels := map[string]string{}
	for _, k := range a.manifest.Kernels {
		kernels[k.Name] = k.Hash
	}
	return kernels
}

// twin says whether an arm is the baseline once more: the same kernel with the
// same settings, or in virtual time a second build of it.
func (a *analysis) twin(arm string) bool {
	kernels := a.kernelHashes()
	base := a.manifest.Arms[0]
	for _, x := range a.manifest.Arms[1:] {
		if x.Name == arm && x.Control {
			return true
		}
		if x.Name == arm {
			return kernels[x.Kernel] == kernels[base.Kernel] && a.manifest.Compare == "arm" &&
				maps.Equal(x.Sysctl, base.Sysctl) && maps.Equal(x.Queue, base.Queue) && maps.Equal(x.Device, base.Device) &&
				x.Append == base.Append && slices.Equal(x.Mkfs, base.Mkfs) && slices.Equal(x.Mount, base.Mount)
		}
	}
	return false
}

// opening writes the title and the paragraphs that a hurried reader reads.
func (p *page) opening() {
	p.heading(1, p.title())
	if n := len(p.samples); n < p.planned {
		p.say("**Partial: %d of %s done.** What follows is of these alone.", n, plural(p.planned, "sample is", "samples are"))
	}
	for _, w := range p.warnings {
		p.say("**Warning:** %s.", text.Clean(w))
	}
	for _, m := range p.mistakes {
		p.say("**The plan is at fault** in %s: %s", plural(m.samples, "sample", "samples"), m)
	}
	if p.analysis.control == shaken && len(p.claimants()) > 0 {
		p.say("**The baseline compared with itself changed, so this run claims nothing.** Whatever made that change made the others too, or may have; "+
			"the figures below are what was measured, and no verdict. By chance alone this happens in one run of %.0f.", 1/fdr)
	}
	for _, arm := range p.arms() {
		t := p.tally(arm)
		s := fmt.Sprintf("%s against %s: %s", text.Clean(arm), text.Clean(p.baseline()), t.counts(true))
		broke := ""
		if len(t.kinds[baselineBroke])+len(t.kinds[bothBroke]) > 0 {
			broke = " Where the baseline broke nothing can be compared."
		}
		if n := p.judgedByRest(arm); n > 0 {
			broke += fmt.Sprintf(" In %s the baseline broke in some blocks; the arm is judged by the others.", plural(n, "condition", "conditions"))
		}
		p.say("%s.%s%s%s", s, broke, p.others(arm), p.controlSays(arm))
	}
	if bound := p.cpuBoundRows(); bound > 0 {
		p.say("CPU-bound: %s, in %d of %s.", p.cpuNote(), bound, plural(len(p.manifest.Conditions), "condition", "conditions"))
	}
	p.say("%s", p.counted())
	if d := p.decision; d != nil {
		p.say("The run repeats until it has decided: %s.", text.Clean(d.Why))
	}
	switch {
	case p.turned == "":
	case p.virtual():
		p.say("The compared axis is %s, which the run was not laid out for. In virtual time that costs nothing: the samples of a block share its seeds, in whatever order they ran.", p.turned)
	default:
		p.say("The compared axis is %s, which the run was not laid out for: its values ran in the same blocks but not next to each other, so drift of the host within a block is in the noise.", p.turned)
	}
	if len(p.runs) > 1 {
		var parts []string
		for _, r := range p.runs {
			parts = append(parts, fmt.Sprintf("%s (%s, %s)", text.Clean(r.name), plural(r.blocks, "block", "blocks"), r.manifest.Started.UTC().Format("2006-01-02 15:04")+" UTC"))
		}
		p.say("Merged from %s of one plan: %s. Their blocks are numbered on; each is compared within itself.", plural(len(p.runs), "run", "runs"), strings.Join(parts, ", "))
	}
}

// others says what the metrics beside the primary ones show.
func (p *page) others(arm string) string {
	of := 0
	kinds := map[stat.Kind][]string{}
	for _, k := range p.comparisons {
		if k.arm != arm || k.metric.Primary {
			continue
		}
		of++
		if name := text.Clean(k.metric.Name); !slices.Contains(kinds[k.verdict.Kind], name) {
			kinds[k.verdict.Kind] = append(kinds[k.verdict.Kind], name)
		}
	}
	var parts []string
	for _, kind := range []stat.Kind{stat.Worse, stat.Better} {
		if names := kinds[kind]; len(names) > 0 {
			parts = append(parts, kind.String()+" somewhere: "+strings.Join(names, ", "))
		}
	}
	switch {
	case of == 0:
		return ""
	case len(parts) == 0:
		return fmt.Sprintf(" Of %s by other metrics none is worse or better.", plural(of, "comparison", "comparisons"))
	}
	return " Of the other metrics, " + strings.Join(parts, "; ") + "."
}

// claimants are the arms that are not the baseline once more.
func (a *analysis) claimants() []string {
	return slices.DeleteFunc(a.arms(), a.twin)
}

// controlSays says what an A/A arm tells of the run.
func (p *page) controlSays(arm string) string {
	if !p.twin(arm) {
		return ""
	}
	claims := 0
	for _, k := range p.comparisons {
		if k.arm == arm && (k.verdict.Kind == stat.Better || k.verdict.Kind == stat.Worse) {
			claims++
		}
	}
	both := " A/A: both are the same kernel with the same settings, "
	if p.rebuilt(arm) {
		both = " A/A: both are builds of one source, which differ in nothing that matters, "
	}
	if claims > 0 {
		return both + fmt.Sprintf("so %s is false. Do not trust this run.", plural(claims, "claim", "of these claims each"))
	}
	return both + "and no change is claimed, as it must be."
}

// counted says how many samples there are and how they ended.
func (p *page) counted() string {
	hows := map[string]int{}
	broke := 0
	for _, s := range p.samples {
		if s.Outcome.Kind != record.OK {
			broke++
			hows[brokeHow(s.Outcome)]++
		}
	}
	out := fmt.Sprintf("%d of %s done; ", len(p.samples), plural(p.planned, "sample", "samples"))
	if broke == 0 {
		out += "none panicked, hung or failed."
	} else {
		var parts []string
		for _, how := range slices.Sorted(maps.Keys(hows)) {
			parts = append(parts, fmt.Sprintf("%s: %d", how, hows[how]))
		}
		out += fmt.Sprintf("%d broke (%s).", broke, strings.Join(parts, ", "))
	}
	if n := len(p.attempts); n > 0 {
		what, _, _ := p.uncounted()
		out += fmt.Sprintf(" %s did not count and %s under attempts/.", what, map[bool]string{true: "lies", false: "lie"}[n == 1])
	}
	return out
}

// judgedByRest counts the conditions in which the baseline broke and enough
// pairs were left to judge the arm by.
func (p *page) judgedByRest(arm string) (n int) {
	for _, k := range p.comparisons {
		if k.arm == arm && k.metric.Primary && len(k.broke) > 0 && k.verdict.Kind != stat.Broken && !k.noBase {
			n++
		}
	}
	return n
}

// cpuBoundRows counts the conditions with a CPU-bound sample.
func (p *page) cpuBoundRows() int {
	bound := map[record.Condition]bool{}
	for _, s := range p.samples {
		if isCPUBound(s) {
			bound[s.Condition] = true
		}
	}
	return len(bound)
}
