package text

import "strings"

// Table is a table as GitHub's Markdown has them, padded so that it reads
// unrendered. Cells must be [Clean]; bars in them are escaped here.
type Table struct {
	Head  []string
	Rows  [][]string
	Right []bool // columns whose cells end at the right, such as numbers
}

// Fits says whether the table is no wider than so many columns.
func (t Table) Fits(width int) bool {
	total := 1
	for _, w := range t.widths() {
		total += w + 3
	}
	return total <= width
}

// plain gives the table's lines for a reader of plain text: no bars.
func (t Table) plain() string {
	show := func(cells []string) []string {
		var out []string
		for _, c := range cells {
			out = append(out, Unescape(c))
		}
		return out
	}
	bare := Table{Head: show(t.Head), Right: t.Right}
	for _, r := range t.Rows {
		bare.Rows = append(bare.Rows, show(r))
	}
	widths := make([]int, len(bare.Head))
	for _, r := range append([][]string{bare.Head}, bare.Rows...) {
		for i := range widths {
			widths[i] = max(widths[i], columns(at(r, i)))
		}
	}
	var b strings.Builder
	line := func(cells []string) {
		var s string
		for i, w := range widths {
			cell := at(cells, i)
			pad := strings.Repeat(" ", w-columns(cell))
			if i > 0 {
				s += "  "
			}
			if i < len(t.Right) && t.Right[i] {
				s += pad + cell
			} else {
				s += cell + pad
			}
		}
		b.WriteString(strings.TrimRight(s, " ") + "\n")
	}
	line(bare.Head)
	var rule []string
	for _, w := range widths {
		rule = append(rule, strings.Repeat("-", w))
	}
	line(rule)
	for _, r := range bare.Rows {
		line(r)
	}
	return strings.ReplaceAll(b.String(), NBSP, " ")
}

// String gives the table's lines as Markdown.
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
