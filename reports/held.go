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

// Held is what a second run says of the verdicts of a first.
type Held struct {
	Held, Fell, Open int    // comparisons
	Text             string // Markdown of 72 columns
}

// Again compares the verdicts of a run with those of another run of the same
// plan. A claim holds if it is made again, "no change" if no change is claimed,
// and a break if it breaks again. What was undecided held nothing.
func Again(then, now *Report) Held {
	var h Held
	p, first := &page{analysis: now.a}, &page{analysis: then.a}
	t := text.Table{Head: []string{"", "where", "what", "then", "now"}}
	var rows []string
	for _, k := range then.a.comparisons {
		if then.a.twin(k.arm) {
			continue
		}
		word := "open"
		other := now.a.find(k.arm, k.condition, k.metric.Name)
		switch held(k, other) {
		case holds:
			h.Held++
			word = "held"
		case falls:
			h.Fell++
			word = "fell"
		case untold:
			h.Open++
		case nothing:
			continue
		}
		unit := then.a.unit(k.condition, k.metric)
		was, is := first.bare(k, unit), "not measured"
		if other != nil {
			is = p.bare(other, unit)
		}
		where, what := first.where(k.condition), text.Clean(k.metric.Name)
		if len(then.a.manifest.Workloads) > 1 {
			what = text.Clean(then.a.workload(k.condition).Name + " " + k.metric.Name)
		}
		if len(then.a.arms()) > 1 {
			where = text.Clean(k.arm) + ": " + where
		}
		t.Rows = append(t.Rows, []string{word, where, what, text.Clean(was), text.Clean(is)})
		rows = append(rows, fmt.Sprintf("%s: %s, %s: then %s, now %s", word, where, what, text.Clean(was), text.Clean(is)))
	}
	p.heading(1, h.title(text.Clean(then.a.manifest.Name)))
	if differ := kept(then.a.manifest, now.a.manifest); len(differ) > 0 {
		p.say("Not the same: %s.", strings.Join(differ, "; "))
	}
	if now.a.control == shaken {
		p.say("**The baseline against itself changed in the second run**, so it claims nothing.")
	}
	if sameAgain(then.a, now.a, func(record.Cell) bool { return true }) {
		p.say("Every value is the same to the last digit, as virtual time makes it of the same plan, kernels and seed. " +
			"That shows that the run comes out the same again; it is no second measurement of the kernels.")
	}
	if len(rows) == 0 {
		p.say("The first run came to no verdict in any row, so there is nothing that a second could confirm or refute.")
	} else {
		p.table([]layout{{Table: t}}, rows)
		p.say("held: what was claimed is claimed again, what did not change did not, what broke broke. " +
			"fell: it did not. open: the second run cannot tell; its interval holds what the first one found.")
	}
	h.Text = p.sheet.Markdown()
	return h
}

func (h Held) title(name string) string {
	if h.Held+h.Fell+h.Open == 0 {
		return name + " again: there was no verdict to hold"
	}
	return fmt.Sprintf("%s again: %d of %s held, %d fell, %d open", name, h.Held, plural(h.Held+h.Fell+h.Open, "verdict", "verdicts"), h.Fell, h.Open)
}

// fate is what became of a verdict.
type fate int

const (
	nothing fate = iota // there was none
	holds
	falls
	untold // cannot be told
)

// held compares two comparisons of one row.
func held(then, now *comparison) fate {
	if then.verdict.Kind == stat.Undecided || then.finding() == baselineBroke {
		return nothing
	}
	if now == nil {
		return untold
	}
	a, b := then.verdict, now.verdict
	switch {
	case a.Kind == stat.Broken:
		if b.Kind == stat.Broken {
			return holds
		}
		return untold // what broke in some boots may break in others
	case b.Kind == a.Kind:
		return holds
	case b.Kind == stat.Broken:
		return falls
	case b.Kind == stat.Undecided:
		// The second run saw enough to exclude the first one's figure?
		if b.Scale == a.Scale && (a.Change < b.Low || a.Change > b.High) && !math.IsNaN(b.Low) {
			return falls
		}
		return untold
	}
	return falls
}

// kept says what is not as it was, of what may differ.
func kept(a, b record.Manifest) []string {
	var out []string
	for _, x := range []struct{ what, was, is string }{
		{"spindle", a.Spindle, b.Spindle}, {"QEMU", a.Machine.QEMU, b.Machine.QEMU},
		{"host", a.Machine.Host.CPU + ", Linux " + a.Machine.Host.Kernel, b.Machine.Host.CPU + ", Linux " + b.Machine.Host.Kernel},
	} {
		if x.was != x.is {
			out = append(out, text.Clean(fmt.Sprintf("%s was %s and is %s", x.what, x.was, x.is)))
		}
	}
	return slices.Clip(out)
}
