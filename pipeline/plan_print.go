package pipeline

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"spindle/reports/record"
)

// columns is how wide printed tables are at most: they are pasted into mails.
const columns = 72

// Summary gives the size of the plan in one line:
//
//	demo: 2 arms × 8 conditions × 3 blocks = 48 samples, about 9 min
func Summary(p *Plan, o Overhead) string {
	a, c, b := len(p.Arms), len(p.Grid()), p.Repeat
	return fmt.Sprintf("%s: %s × %s × %s = %s, %s", p.Name,
		count(a, "arm"), count(c, "condition"), count(b, "block"), count(a*b*c, "sample"), about(Estimate(p, o)))
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// WriteCheck writes what is to be said of a plan without mistakes.
func WriteCheck(w io.Writer, p *Plan, o Overhead) error {
	var b strings.Builder
	fmt.Fprintln(&b, Summary(p, o))
	if len(p.Arms) == 1 {
		fmt.Fprintf(&b, "note: %s is the only arm: it is measured, but compared with nothing\n", p.Arms[0].Name)
	}
	if full := p.FullSize(); full != nil {
		o := AssumedOverhead(full.Machine.Accel)
		fmt.Fprintf(&b, "scale %s: memory, files and caches; at full size (--scale 1) it takes %s\n", p.Scale, about(Estimate(full, o)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteLayout writes the blocks as a table: the conditions in the order they
// run, each with its arms in the order they run.
func WriteLayout(w io.Writer, p *Plan, o Overhead) error {
	var b strings.Builder
	fmt.Fprintln(&b, Summary(p, o))
	wide := len("condition")
	for _, c := range p.Grid() {
		wide = max(wide, len(c.String()))
	}
	each := about(Estimate(p, o) / time.Duration(p.Repeat))
	for _, block := range Layout(p) {
		fmt.Fprintf(&b, "\nblock %d of %d, %s\n", block.Index, p.Repeat, each)
		layoutRow(&b, wide, "", "condition", "arms, in order")
		for i := 0; i < len(block.Cells); i += len(p.Arms) {
			var arms []string
			for _, c := range block.Cells[i : i+len(p.Arms)] {
				arms = append(arms, c.Arm)
			}
			layoutRow(&b, wide, fmt.Sprint(i/len(p.Arms)+1), block.Cells[i].Condition.String(), strings.Join(arms, ", "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// layoutRow writes one row. Where the row would be too wide, the arms get
// lines of their own.
func layoutRow(b *strings.Builder, wide int, number, condition, arms string) {
	const indent = "      "
	row := fmt.Sprintf("%4s  %-*s  %s", number, wide, condition, arms)
	if len(row) <= columns {
		fmt.Fprintln(b, row)
		return
	}
	for i, line := range fold(condition, columns-len(indent)) {
		if i > 0 {
			number = ""
		}
		fmt.Fprintf(b, "%4s  %s\n", number, line)
	}
	for _, line := range fold(arms, columns-len(indent)-2) {
		fmt.Fprintf(b, "%s  %s\n", indent, line)
	}
}

// fold breaks a text at spaces into lines of at most width characters; a word
// that is longer stays whole.
func fold(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// layoutJSON is the form of plan layout --json.
type layoutJSON struct {
	Name       string             `json:"name"`
	Seed       uint64             `json:"seed"`
	Arms       []string           `json:"arms"` // the first is the baseline
	Conditions []record.Condition `json:"conditions"`
	Samples    int                `json:"samples"`
	Estimate   float64            `json:"estimate_seconds"`
	Blocks     []blockJSON        `json:"blocks"`
}

type blockJSON struct {
	Index int           `json:"index"`
	Cells []record.Cell `json:"cells"` // in the order they run
}

// WriteLayoutJSON writes the layout for programs.
func WriteLayoutJSON(w io.Writer, p *Plan, o Overhead) error {
	l := layoutJSON{Name: p.Name, Seed: p.Seed, Conditions: p.Grid(), Estimate: Estimate(p, o).Seconds()}
	for _, a := range p.Arms {
		l.Arms = append(l.Arms, a.Name)
	}
	for _, b := range Layout(p) {
		l.Samples += len(b.Cells)
		l.Blocks = append(l.Blocks, blockJSON(b))
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(l)
}
