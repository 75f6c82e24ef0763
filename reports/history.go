package reports

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"spindle/internal/fault"
	"spindle/reports/internal/plots"
	"spindle/reports/internal/text"
	"spindle/reports/record"
	"spindle/reports/stat"
)

// historyLevel is the rate of histories without a change in which one is
// claimed, over all conditions together.
const historyLevel = 0.05

// History is the baseline of many runs of one plan, in the order of time: how
// fast it was on each day, and where that changed. What changed there is said
// too: the baseline's kernel, the host's, spindle.
//
// Absolute figures are compared here, which a run by itself never does. So the
// host must be the same in all runs, beside everything that runs must share to
// be merged, but for the kernel; only in virtual time the host does not matter.
type History struct {
	name   string
	runs   []member
	labels []string // dates, told apart where they are the same
	copyOf []int    // by run: the one that it repeats in virtual time, or -1
	tracks []track
}

// track is one condition of a history.
type track struct {
	condition record.Condition
	workload  record.Workload
	metric    record.MetricInfo
	values    []stat.Summary // by run; N is 0 where it has none
	broke     []string       // by run: how the baseline broke
	used      []int          // runs that have a value
	changes   []turned       // in order
	ratio     bool           // changes are shares
}

// turned is a change of a track.
type turned struct {
	stat.ChangePoint     // Diff as a share, or in the metric's unit
	run              int // first of the runs after it
}

// OpenHistory reads runs and orders them by their start. Runs that cannot be
// compared are refused, with every reason.
func OpenHistory(dirs []string) (*History, error) {
	var all []source
	seen := map[string]string{}
	for _, dir := range dirs {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			real = dir
		}
		if was, ok := seen[real]; ok {
			return nil, fault.Planf("history: %s and %s are one run", was, dir)
		}
		seen[real] = dir
		s, err := open(dir)
		if err != nil {
			return nil, err
		}
		s.runs[0].name = filepath.ToSlash(filepath.Clean(dir))
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b source) int { return a.manifest.Started.Compare(b.manifest.Started) })
	for i, s := range all[1:] {
		if why := unlike(all[0].manifest, s.manifest); len(why) > 0 {
			return nil, &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("history: compare %s with %s: %w", all[0].runs[0].name, s.runs[0].name, errors.Join(why...)),
				Hint: "leave one of them out; only the kernel may differ, and in virtual time the host"}
		}
		if same(all[i], s) {
			return nil, fault.Planf("history: %s is a copy of %s", s.runs[0].name, all[i].runs[0].name)
		}
	}
	h := &History{name: all[0].manifest.Name}
	for _, s := range all {
		h.runs = append(h.runs, s.runs[0])
	}
	h.label()
	h.follow(all)
	return h, nil
}

// unlike gives the reasons why the baselines of two runs cannot be compared.
func unlike(a, b record.Manifest) []error {
	out := setupsDiffer(a, b)
	add := func(what string, x, y any) {
		if p, q := fmt.Sprint(x), fmt.Sprint(y); p != q {
			out = append(out, fmt.Errorf("%s: %s and %s", what, text.Cut(p, 200), text.Cut(q, 200)))
		}
	}
	add("the plans have different names", a.Name, b.Name)
	x, y := a.Arms[0], b.Arms[0]
	add("the baselines have different settings", settingsOf(x), settingsOf(y))
	add("the conditions differ", a.Conditions, b.Conditions)
	add("the workloads differ", titles(a), titles(b))
	add("the file systems' options differ", a.Filesystems, b.Filesystems)
	if a.Machine.Accel != "virtual" {
		add("the host differs", hostSaid(a), hostSaid(b))
	} else {
		add("the cost of computing differs", a.Machine.AccelWhy, b.Machine.AccelWhy)
	}
	return out
}

func titles(m record.Manifest) (out []string) {
	for _, w := range m.Workloads {
		out = append(out, w.Title)
	}
	return out
}

func hostSaid(m record.Manifest) string {
	h := m.Machine.Host
	return fmt.Sprintf("%s, %d CPUs, %s", h.CPU, h.CPUs, size(h.MemoryBytes))
}

// label names the runs by their days, and where a day has two by the time too.
func (h *History) label() {
	days := map[string]int{}
	for _, r := range h.runs {
		days[r.manifest.Started.UTC().Format("2006-01-02")]++
	}
	for _, r := range h.runs {
		l := r.manifest.Started.UTC().Format("2006-01-02")
		if days[l] > 1 {
			l = r.manifest.Started.UTC().Format("2006-01-02 15:04")
		}
		h.labels = append(h.labels, l)
	}
}

// marks are labels that are short enough for a picture, and what they are.
func (h *History) marks() (marks []string, what string) {
	all := func(format string) (out []string) {
		for _, r := range h.runs {
			out = append(out, r.manifest.Started.UTC().Format(format))
		}
		return out
	}
	distinct := func(s []string) int {
		s = slices.Clone(s)
		slices.Sort(s)
		return len(slices.Compact(s))
	}
	days := all("2006-01-02")
	switch n := len(h.runs); {
	case distinct(days) == n:
		return days, ""
	case distinct(days) == 1 && distinct(all("15:04")) == n:
		return all("15:04"), "time of day on " + days[0] + ", UTC"
	case distinct(all("01-02 15:04")) == n:
		return all("01-02 15:04"), "month, day and time of day, UTC"
	}
	for i := range h.runs {
		marks = append(marks, fmt.Sprint(i+1))
	}
	return marks, "number of the run"
}

// follow finds the changes of every condition.
func (h *History) follow(all []source) {
	analyses := make([]*analysis, len(all))
	for i, s := range all {
		analyses[i] = analyse(s)
	}
	h.findCopies(analyses)
	first := analyses[0]
	for _, c := range first.manifest.Conditions {
		for _, m := range first.metrics(c)[:1] {
			t := track{condition: c, workload: first.workload(c), metric: m, ratio: true}
			for i, a := range analyses {
				cell := record.Cell{Arm: a.baseline(), Condition: c}
				v := stat.Describe(a.values(cell, m.Name))
				t.values = append(t.values, v)
				t.broke = append(t.broke, brokeWhen(a.cells[cell]))
				if v.N > 0 && h.copyOf[i] < 0 {
					t.used = append(t.used, i)
					t.ratio = t.ratio && v.Min > 0
				}
			}
			h.tracks = append(h.tracks, t)
		}
	}
	for i := range h.tracks {
		h.tracks[i].find(historyLevel / float64(len(h.tracks)))
	}
}

// findCopies marks the runs that had to come out as an earlier one did.
func (h *History) findCopies(all []*analysis) {
	for i, a := range all {
		of := slices.IndexFunc(all[:i], func(b *analysis) bool {
			return baseKernel(a.manifest).Hash == baseKernel(b.manifest).Hash &&
				sameAgain(a, b, func(c record.Cell) bool { return c.Arm == a.baseline() || c.Arm == b.baseline() })
		})
		h.copyOf = append(h.copyOf, of)
	}
}

// counted is how many runs are no copies.
func (h *History) counted() (n int) {
	for _, of := range h.copyOf {
		if of < 0 {
			n++
		}
	}
	return n
}

// find looks for changes; shares are found and given by logarithms.
func (t *track) find(level float64) {
	var v []float64
	for _, i := range t.used {
		x := t.values[i].Mean
		if t.ratio {
			x = math.Log(x)
		}
		v = append(v, x)
	}
	for _, c := range stat.ChangePoints(v, level) {
		if t.ratio {
			c.Diff, c.Low, c.High = math.Expm1(c.Diff), math.Expm1(c.Low), math.Expm1(c.High)
		}
		t.changes = append(t.changes, turned{c, t.used[c.At]})
	}
}

// Changes gives how many changes there are in all conditions.
func (h *History) Changes() int {
	n := 0
	for _, t := range h.tracks {
		n += len(t.changes)
	}
	return n
}

// Text gives the history as plain text of 72 columns, or as Markdown.
func (h *History) Text(markdown bool) string {
	p := h.page(nil)
	if markdown {
		return p.sheet.Markdown()
	}
	return p.sheet.Plain()
}

// WriteTo puts history.md, history.html and the plots into dir.
func (h *History) WriteTo(dir string) error {
	figures := map[string][]byte{}
	var names []string
	for _, t := range h.tracks {
		pic, err := h.course(t).Draw()
		if err != nil {
			return fmt.Errorf("history: %w", err)
		}
		name := t.file()
		for ext, data := range map[string][]byte{".svg": pic.SVG, ".png": pic.PNG} {
			if err := put(dir, name+ext, data); err != nil {
				return err
			}
		}
		figures[name+".svg"] = pic.SVG
		names = append(names, name+".svg")
	}
	wide := h.page(names)
	wide.sheet.Width = text.Unlimited
	if err := put(dir, "history.html", []byte(wide.sheet.HTML(figures))); err != nil {
		return err
	}
	return put(dir, "history.md", []byte(h.Text(true)))
}

func (t track) file() string { return "history_" + t.condition.Slug() }

func (h *History) page(plots []string) *page {
	p := &page{analysis: &analysis{}, plots: plots}
	p.heading(1, text.Clean(h.title()))
	h.opening(p)
	for _, t := range h.tracks {
		h.section(p, t)
	}
	return p
}

func (h *History) title() string {
	s := fmt.Sprintf("%s: the baseline over %s: ", h.name, plural(len(h.runs), "run", "runs"))
	if n := h.Changes(); n > 0 {
		return s + plural(n, "change", "changes")
	}
	if h.counted() < 2*stat.Leash {
		return s + "too few runs to tell"
	}
	return s + "no change"
}

func (h *History) opening(p *page) {
	var items []string
	for _, t := range h.tracks {
		for i, c := range t.changes {
			items = append(items, fmt.Sprintf("%s: %s, %s from %s on%s", text.Clean(t.condition.String()), text.Clean(t.metric.Name),
				t.said(i), h.labels[c.run], h.what(t, c)))
		}
	}
	p.list(items)
	p.say("Each condition is searched for changes of its mean by the largest two-sample t (Worsley 1979), held to %.0f %% over all %s together. A change needs %d runs behind it, and %d runs at least to be seen at all.",
		100*historyLevel, plural(len(h.tracks), "condition", "conditions"), stat.Leash, 2*stat.Leash)
	counted := h.counted()
	if counted < len(h.runs) {
		p.say("Same to the last digit: where the last column has =, virtual time made the same figures of the same kernel, plan and seed as before. " +
			"That shows that a run comes out the same again; it is no second measurement, and counts once.")
	}
	if counted < 2*stat.Leash {
		said := plural(len(h.runs), "run", "runs")
		if counted < len(h.runs) {
			said += fmt.Sprintf(", of which %s,", plural(counted, "counts", "count"))
		}
		p.say("**%s are too few** for that.", said)
	}
}

// said gives a change with its interval: "+12.3 % (11.0, 13.6)".
func (t track) said(i int) string {
	c := t.changes[i]
	v := stat.Verdict{Change: c.Diff, Low: c.Low, High: c.High, Scale: stat.Difference}
	if t.ratio {
		v.Scale = stat.Ratio
	}
	word := "worse "
	if (c.Diff < 0) == (t.metric.Direction != record.Higher) {
		word = "better "
	}
	return word + change(v, t.unit())
}

func (t track) unit() scale {
	var means []float64
	for _, i := range t.used {
		means = append(means, math.Abs(t.values[i].Mean))
	}
	if len(means) == 0 {
		return scaleOf(t.metric.Unit, 1)
	}
	return scaleFor(t.metric.Unit, means)
}

// what says what else changed between the run after a change and the one before.
func (h *History) what(t track, c turned) string {
	i := slices.Index(t.used, c.run)
	if i < 1 {
		return ""
	}
	a, b := h.runs[t.used[i-1]].manifest, h.runs[c.run].manifest
	var out []string
	k, l := baseKernel(a), baseKernel(b)
	if k.Hash != l.Hash {
		out = append(out, fmt.Sprintf("kernel %s (%s) became %s (%s)", k.Version, short(k.Hash), l.Version, short(l.Hash)))
	}
	for _, x := range []struct{ what, was, is string }{
		{"the host's kernel", a.Machine.Host.Kernel, b.Machine.Host.Kernel}, {"spindle", a.Spindle, b.Spindle},
	} {
		if x.was != x.is {
			out = append(out, fmt.Sprintf("%s %s became %s", x.what, x.was, x.is))
		}
	}
	if len(out) == 0 {
		return "; nothing else is known to have changed"
	}
	return text.Clean("; " + strings.Join(out, ", "))
}

// baseKernel gives what a run's baseline boots.
func baseKernel(m record.Manifest) record.Kernel {
	for _, k := range m.Kernels {
		if k.Name == m.Arms[0].Kernel {
			return k
		}
	}
	return record.Kernel{}
}

// section writes the runs of one condition.
func (h *History) section(p *page, t track) {
	p.heading(2, text.Clean(t.condition.String()))
	unit := t.unit()
	name := t.metric.Name
	if unit.name != "" {
		name += " in" + text.NBSP + unit.name
	}
	word := "less"
	if t.metric.Direction == record.Higher {
		word = "more"
	}
	p.say("%s: %s, %s is better; n is boots.", text.Clean(t.workload.Title), text.Clean(name), word)
	p.figure(t.file(), t.condition.String()+": "+t.metric.Name+" of the baseline, run by run")
	table := text.Table{Head: []string{"run", "kernel", "n", text.Clean(t.metric.Name), "change"}, Right: []bool{false, false, true, true}}
	var list []string
	for i, v := range t.values {
		note := ""
		for j, c := range t.changes {
			if c.run == i {
				note = t.said(j)
			}
		}
		if of := h.copyOf[i]; of >= 0 {
			note = "= " + h.labels[of]
		}
		if t.broke[i] != "" {
			note = strings.TrimPrefix(note+"; "+t.broke[i], "; ")
		}
		row := []string{h.labels[i], text.Clean(text.Cut(baseKernel(h.runs[i].manifest).Version, 20)), fmt.Sprint(v.N), value(v, unit, " ± "), note}
		table.Rows = append(table.Rows, row)
		list = append(list, strings.TrimRight(fmt.Sprintf("%s, kernel %s, n = %s: %s %s", row[0], row[1], row[2], row[3], row[4]), " "))
	}
	short := table
	short.Head = slices.Delete(slices.Clone(table.Head), 1, 2)
	short.Right = slices.Delete(slices.Clone(table.Right), 1, 2)
	short.Rows = nil
	for _, r := range table.Rows {
		short.Rows = append(short.Rows, slices.Delete(slices.Clone(r), 1, 2))
	}
	p.table([]layout{{Table: table}, {Table: short}}, list)
}

// course gives the picture of a condition.
func (h *History) course(t track) plots.Course {
	unit := t.unit()
	axis := t.metric.Name
	if unit.name != "" {
		axis += ", " + unit.name
	}
	c := plots.Course{Title: t.condition.String() + ": " + t.workload.Title, Axis: axis}
	c.Labels, c.Below = h.marks()
	for _, v := range t.values {
		c.Runs = append(c.Runs, plots.Cell{Mean: v.Mean / unit.size, Low: v.Low / unit.size, High: v.High / unit.size})
	}
	from := 0
	note := ""
	for i := 0; i <= len(t.changes); i++ {
		to := len(h.runs)
		if i < len(t.changes) {
			to = t.changes[i].run
		}
		var sum float64
		n := 0
		for _, j := range t.used {
			if from <= j && j < to {
				sum += t.values[j].Mean
				n++
			}
		}
		if n > 0 {
			c.Levels = append(c.Levels, plots.Level{From: from, To: to, Mean: sum / float64(n) / unit.size, Note: note})
		}
		if i < len(t.changes) {
			note, _, _ = strings.Cut(plainText(t.said(i)), " (")
		}
		from = to
	}
	return c
}
