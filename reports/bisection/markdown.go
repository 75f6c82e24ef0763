package bisection

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"spindle/internal/progress"
	"spindle/reports/internal/text"
	"spindle/reports/record"
)

// Markdown gives the report, fit for a mail.
func Markdown(r Result) string {
	w := &writer{}
	w.heading(1, r.headline())
	w.say("%s", r.verdict())
	r.culprit(w)
	r.others(w)
	r.confirmed(w)
	r.table(w)
	r.skips(w)
	r.measured(w)
	r.again(w)
	return w.String()
}

// writer makes Markdown with the room's limits.
type writer struct{ strings.Builder }

func (w *writer) gap() {
	if w.Len() > 0 {
		w.WriteByte('\n')
	}
}

func (w *writer) heading(level int, title string) {
	w.gap()
	w.WriteString(strings.Repeat("#", level) + " " + text.Cut(title, text.Width-level-1) + "\n")
}

func (w *writer) say(format string, args ...any) {
	w.gap()
	w.WriteString(text.Wrap(fmt.Sprintf(format, args...), "", ""))
}

func (w *writer) list(items []string) {
	if len(items) > 0 {
		w.gap()
	}
	for _, i := range items {
		w.WriteString(text.Wrap(i, "- ", "  "))
	}
}

// lines are for programs: they stand as they are, indented as code.
func (w *writer) lines(lines ...string) {
	w.gap()
	for _, l := range lines {
		w.WriteString("    " + strings.TrimSpace(l) + "\n")
	}
}

func (r Result) headline() string {
	metric := text.Clean(r.Metric.Name)
	switch r.Kind {
	case "found", "unconfirmed":
		if c := r.Culprits; len(c) > 0 && r.Change != nil {
			return fmt.Sprintf("%s %s since %s", metric, r.went(r.Change.Share), text.Clean(c[0].Subject))
		}
	case "one of":
		if r.Change != nil {
			return fmt.Sprintf("%s %s: one of %d commits did it", metric, r.went(r.Change.Share), len(r.Culprits))
		}
	case "no difference":
		return fmt.Sprintf("%s: no difference between %s and %s", metric, text.Clean(r.GoodRev), text.Clean(r.BadRev))
	}
	return fmt.Sprintf("%s between %s and %s: %s", metric, text.Clean(r.GoodRev), text.Clean(r.BadRev), r.Kind)
}

// went says a change in words: "14 % worse".
func (r Result) went(share float64) string {
	word := "better"
	if (share > 0) == (r.Metric.Direction == record.Lower) {
		word = "worse"
	}
	return percent(math.Abs(share)) + " " + word
}

func (r Result) verdict() string {
	where := text.Clean(r.Condition.String())
	ends := fmt.Sprintf("Between %s and %s", text.Clean(r.GoodRev), text.Clean(r.BadRev))
	change := ""
	if r.Change != nil {
		change = fmt.Sprintf("%s, %s changed by %s (95%s%% interval %s to %s): %s", ends, text.Clean(r.Metric.Name), signed(r.Change.Share), text.NBSP, signed(r.Change.Low), signed(r.Change.High), where)
	}
	switch r.Kind {
	case "found":
		return fmt.Sprintf("%s. The commit is found with a probability of %s, and confirmed.", change, percent(r.Probability))
	case "unconfirmed":
		return fmt.Sprintf("%s. The search names a commit with a probability of %s, but measured once more it does not differ from its parent as it should: do not blame it yet.", change, percent(r.Probability))
	case "one of":
		return fmt.Sprintf("%s. It is one of the %d commits below, with a probability of %s together: no commit between them could be measured.", change, len(r.Culprits), percent(r.Probability))
	case "no difference":
		if r.Ends.SameKernel {
			return ends + ", both ends have the same kernel, byte for byte but for its name. Nothing was measured."
		}
		out := fmt.Sprintf("%s, %s does not change: %s to %s, 95%s%% interval, in %d blocks: %s.", ends, text.Clean(r.Metric.Name), signed(r.Ends.Change.Low), signed(r.Ends.Change.High), text.NBSP, r.Ends.Change.N, where)
		if r.Ends.Change.Sees > 0 {
			out += fmt.Sprintf(" A change of %s would have been seen.", percent(r.Ends.Change.Sees))
		}
		return out
	}
	if change == "" {
		change = ends
	}
	return change + ". " + map[string]string{
		"undecided": "No commit can be named.", "unfinished": "The bisection has not come to its end; this is what is known by now.",
	}[r.Kind]
}

// culprit is the section on the commit that is named.
func (r Result) culprit(w *writer) {
	if r.Kind != "found" && r.Kind != "unconfirmed" || len(r.Culprits) == 0 {
		return
	}
	c := r.Culprits[0]
	w.heading(2, "The commit")
	subject := plain(c.Subject)
	w.lines(
		fmt.Sprintf("commit %s", c.ID),
		"Author: "+plain(c.Author),
		"Subject: "+subject,
	)
	if r.Kind != "found" {
		return
	}
	w.say("For the patch that repairs it, and for the report to the list:")
	w.lines(
		fmt.Sprintf("Fixes: %s (\"%s\")", c.Short(), subject),
		"#regzbot introduced: "+c.ID,
	)
}

// others lists the commits of an answer that is a set, and a second change.
func (r Result) others(w *writer) {
	if r.Kind == "one of" || r.Kind == "undecided" && len(r.Culprits) > 0 {
		w.heading(2, "The commits it may be")
		var items []string
		for i, c := range r.Culprits {
			if i == 20 {
				items = append(items, fmt.Sprintf("and %d more", len(r.Culprits)-i))
				break
			}
			why := ""
			if c.Skip != "" {
				why = "; could not be measured: " + text.Clean(c.Skip)
			}
			items = append(items, fmt.Sprintf("%s %s (%s%s)", c.Short(), text.Clean(c.Subject), percent(c.Culprit), why))
		}
		w.list(items)
	}
	if s := r.Second; s != nil && len(s.Culprits) > 0 {
		w.heading(2, "A second change")
		w.say("Two commits changed the metric, with a probability of %s. The other changed it by %s and is %s:", percent(s.Probability), signed(s.Share), map[bool]string{true: "this", false: "one of these"}[len(s.Culprits) == 1])
		var items []string
		for _, c := range s.Culprits[:min(len(s.Culprits), 20)] {
			items = append(items, c.Short()+" "+text.Clean(c.Subject))
		}
		w.list(items)
	}
}

func (r Result) confirmed(w *writer) {
	c := r.Confirm
	if c == nil {
		return
	}
	w.heading(2, "Confirmation")
	t := text.Table{Head: []string{"compared", "change", "95 % interval", "n"}, Right: []bool{false, true, true, true}}
	row := func(what string, x Change) {
		t.Rows = append(t.Rows, []string{what, signed(x.Share), "(" + bare(x.Low) + ", " + bare(x.High) + ")", fmt.Sprint(x.N)})
	}
	for _, p := range c.Parents {
		row("against parent "+p.Base[:min(12, len(p.Base))], p.Change)
	}
	if c.Revert != nil {
		row("bad end, reverted", c.Revert.Change)
	}
	w.gap()
	w.WriteString(t.String())
	switch {
	case c.Revert == nil && c.Why != "":
		w.say("The revert was not measured: %s.", text.Clean(c.Why))
	case c.Revert == nil:
		w.say("The revert was not measured.")
	case !c.Revert.Change.Claim:
		w.say("The revert applies to the bad end (%s) and changes nothing there that could be seen.", c.Patch)
	default:
		w.say("The revert applies to the bad end: %s.", c.Patch)
	}
}

// shown is how many rows the table of commits has at most; JSON has all.
const shown = 40

func (r Result) table(w *writer) {
	size, unit := scale(r.Metric.Unit, r.level())
	head := "mean"
	if unit != "" {
		head += ", " + unit
	}
	t := text.Table{Head: []string{"commit", "n", head, "changed", "subject"}, Right: []bool{false, true, true, true, false}}
	for _, c := range r.Commits {
		if len(c.Values) == 0 || c.Twin != "" || len(t.Rows) == shown {
			continue
		}
		value := fmt.Sprintf("%.4g", c.Mean/size)
		if c.High > c.Low {
			value += fmt.Sprintf(" ± %.2g", (c.High-c.Low)/2/size)
		}
		t.Rows = append(t.Rows, []string{c.Short(), fmt.Sprint(len(c.Values)), value, percent(c.After), text.Clean(c.Subject)})
	}
	if len(t.Rows) == 0 {
		return
	}
	for n := 60; !t.Fits(text.Width) && n > 0; n-- {
		for _, row := range t.Rows {
			row[4] = text.Cut(row[4], n)
		}
	}
	w.heading(2, "What was measured, oldest first")
	w.say("n samples, their mean with a 95%s%% interval, and the probability that the commit has the change. The plot is %s.svg.", text.NBSP, PlotFile)
	w.gap()
	w.WriteString(t.String())
}

func (r Result) skips(w *writer) {
	var items []string
	for _, c := range r.Commits {
		if c.Skip == "" {
			continue
		}
		if len(items) == 20 {
			items = append(items, "and more: see "+JSONFile)
			break
		}
		item := fmt.Sprintf("%s %s: %s", c.Short(), text.Clean(c.Subject), text.Clean(c.Skip))
		if c.Log != "" {
			item += " [" + text.Clean(c.Log) + "]"
		}
		items = append(items, item)
	}
	if len(items) == 0 {
		return
	}
	w.heading(2, "Skipped")
	w.say("These could not be measured, which counts for nothing:")
	w.list(items)
}

func (r Result) measured(w *writer) {
	w.heading(2, "How it was measured")
	n := len(r.Commits) - 1
	items := []string{
		fmt.Sprintf("history: %s..%s of %s, %d commits", r.Good.Short(), r.Bad.Short(), text.Clean(r.Repo), n),
		fmt.Sprintf("boots: %d of the ends, %d to search, %d to confirm; %s from first to last", r.Boots.Ends, r.Boots.Search, r.Boots.Confirm, progress.About(time.Duration(r.Seconds*float64(time.Second)))),
		fmt.Sprintf("kernels: %d, of which %d differ from another one in their names only and share its samples; %d commits skipped", r.Boots.Kernels, r.Boots.Twins, r.Boots.Skipped),
		"workload: " + text.Clean(r.Workload) + ", " + text.Clean(r.Condition.String()),
	}
	if len(r.Paths) > 0 {
		items[0] += ", as far as they touch " + text.Clean(strings.Join(r.Paths, " "))
	}
	e := r.Ends.Change
	if e.N > 0 {
		items = append(items, fmt.Sprintf("ends: bad against good %s (%s to %s), %d blocks", signed(e.Share), signed(e.Low), signed(e.High), e.N))
	}
	if s := r.Ends.Self; s != nil && s.N > 0 {
		items = append(items, fmt.Sprintf("a kernel against itself: %s (%s to %s), %d blocks", signed(s.Share), signed(s.Low), signed(s.High), s.N))
	}
	if r.Virtual {
		items = append(items, "virtual time: a kernel gives the same number at the same seed, on any host; blocks are seeds, and the intervals are over those")
	} else if r.Boots.Kernels > 0 {
		items = append(items, "builds and boots took turns: nothing was built while a guest was measured")
	}
	if m := r.Host; m != nil {
		how := m.Machine.Accel
		if m.Machine.QEMU != "" {
			how = "QEMU " + m.Machine.QEMU + ", " + how
		}
		items = append(items, text.Clean(fmt.Sprintf("machine: %s, %d CPU, %d MiB; host %s, Linux %s", how, m.Machine.CPUs, m.Machine.MemoryBytes>>20, m.Machine.Host.CPU, m.Machine.Host.Kernel)))
		for _, d := range m.Drives {
			items = append(items, text.Clean("drive "+d.Name+": "+d.Model))
		}
		items = append(items, text.Clean("spindle "+m.Spindle))
	}
	w.list(items)
}

func (r Result) again(w *writer) {
	w.heading(2, "To do it again")
	w.lines(r.Again...)
	w.say("The plan is plan.yaml beside this report; bisect.jsonl has every sample, and git bisect replay takes git-bisect.log.")
}

var nan = math.NaN()

// level is the size of the metric's values, for the choice of a unit.
func (r Result) level() float64 {
	var all []float64
	for _, c := range r.Commits {
		all = append(all, c.Values...)
	}
	if len(all) == 0 {
		return 1
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// scale chooses the multiple of a unit in which values have few digits.
func scale(unit string, level float64) (size float64, name string) {
	type step struct {
		size float64
		name string
	}
	steps := map[string][]step{
		"s":   {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}},
		"B/s": {{1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}},
	}[unit]
	for _, x := range steps {
		if level >= x.size {
			return x.size, x.name
		}
	}
	if unit == "1" {
		unit = ""
	}
	return 1, unit
}

func percent(share float64) string {
	p := 100 * share
	switch {
	case share > 0.9995 && share < 1:
		return ">" + text.NBSP + "99.9" + text.NBSP + "%"
	case math.Abs(p) >= 10 || p == 0:
		return fmt.Sprintf("%.1f%s%%", p, text.NBSP)
	}
	return fmt.Sprintf("%.2g%s%%", p, text.NBSP)
}

func signed(share float64) string {
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return "?"
	}
	return fmt.Sprintf("%+.1f%s%%", 100*share, text.NBSP)
}

// bare is signed without the sign of percent.
func bare(share float64) string { return strings.TrimSuffix(signed(share), text.NBSP+"%") }

// plain makes one printable line without Markdown's escapes: for pictures, and
// for lines that programs read.
func plain(s string) string { return text.Unescape(text.Clean(s)) }
