package text

import "strings"

// Table is a table as GitHub's Markdown has them, padded so that it reads
// unrendered. Cells must be [Clean]; bars in them are escaped here.
type Table struct {
	Head  []string
	Rows  [][]string
	Right []bool // columns whose cells end at the right, such as numbers
}

// Fits says whether the table is no wider than [Width].
func (t Table) Fits() bool {
	total := 1
	for _, w := range t.widths() {
		total += w + 3
	}
	return total <= Width
}

// String gives the table's lines.
func (t Table) String() string {
	var b strings.Builder
	widths := t.widths()
	line := func(cells []string) {
		b.WriteString("|")
		for i, w := range widths {
			cell := escape(at(cells, i))
			pad := strings.Repeat(" ", w-columns(cell))
			if i < len(t.Right) && t.Right[i] {
				b.WriteString(" " + pad + cell + " |")
			} else {
				b.WriteString(" " + cell + pad + " |")
			}
		}
		b.WriteString("\n")
	}
	line(t.Head)
	b.WriteString("|")
	for i, w := range widths {
		rule := strings.Repeat("-", w+2)
		if i < len(t.Right) && t.Right[i] {
			rule = rule[1:] + ":"
		}
		b.WriteString(rule + "|")
	}
	b.WriteString("\n")
	for _, r := range t.Rows {
		line(r)
	}
	return strings.ReplaceAll(b.String(), NBSP, " ")
}

func (t Table) widths() []int {
	w := make([]int, len(t.Head))
	for _, r := range append([][]string{t.Head}, t.Rows...) {
		for i := range w {
			w[i] = max(w[i], columns(escape(at(r, i))))
		}
	}
	return w
}

func at(cells []string, i int) string {
	if i < len(cells) {
		return cells[i]
	}
	return ""
}

func escape(cell string) string { return strings.ReplaceAll(cell, "|", `\|`) }
