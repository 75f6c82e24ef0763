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

// everySample writes the primary metric of every sample by block, and how the
// samples of each cell spread.
func (p *page) everySample() {
	p.heading(2, "Every sample")
	too := "the host's drift from block to block"
	if p.virtual() {
		too = "the difference that the blocks' seeds make"
	}
	p.say("Primary metrics by block (b1, b2, ...). sd and CV (sd / mean) are of single boots, so they hold %s too. All metrics are in values.csv, the raw logs under samples/.", too)
	for _, g := range p.groups() {
		m := p.metrics(g.conditions[0])
		if len(m) == 0 {
			continue
		}
		title := text.Clean(g.workload.Title)
		if p.severalDrives() {
			title = text.Clean(g.drive) + ": " + title
		}
		p.heading(3, title)
		p.say("%s.", capital(p.caption(g, m[0])))
		p.byBlock(g, m[0])
	}
}

// byBlock writes one row a cell; blocks that do not fit go into further tables.
func (p *page) byBlock(g group, m record.MetricInfo) {
	unit := p.unit(g.conditions[0], m)
	axes := axesOf(g.conditions)
	var columns []string
	for i := range p.manifest.Blocks {
		columns = append(columns, fmt.Sprintf("b%d", i+1))
	}
	columns = append(columns, spreadHeads...)
	decimals := p.sampleDecimals(g, m, unit)
	var full, named, numbered block
	for i, c := range g.conditions {
		for j, arm := range p.manifest.Arms {
			cells := p.cellRow(record.Cell{Arm: arm.Name, Condition: c}, m, unit, decimals)
			labels, name, number := axes.labels(c), text.Clean(arm.Name), fmt.Sprintf("(%d)", i+1)
			full.add(append(labels, name), cells)
			if j == 0 {
				numbered.legend = append(numbered.legend, number+" "+strings.Join(labels, ", "))
			}
			short := fmt.Sprintf("arm %d", j)
			if j == 0 {
				short = "baseline"
			}
			if i == 0 {
				named.legend = append(named.legend, short+": "+name)
			}
			named.add(append(labels, short), cells)
			numbered.add([]string{number, short}, cells)
		}
	}
	numbered.legend = append(slices.Clone(named.legend), numbered.legend...)
	full.heads, named.heads, numbered.heads = append(axes.heads(), "arm"), append(axes.heads(), "arm"), []string{"condition", "arm"}
	for _, b := range []block{full, named, numbered} {
		if tables, ok := b.tables(columns, p.sheet.Columns()); ok {
			p.list(b.legend)
			for _, t := range tables {
				p.sheet.Table(t)
			}
			return
		}
	}
	p.say("Too wide for a table; see values.csv.")
}

// spreadHeads are the columns after the blocks; they stay together.
var spreadHeads = []string{"median", "sd", "CV"}

// cellRow gives a cell's values by block and how they spread.
func (p *page) cellRow(cell record.Cell, m record.MetricInfo, unit scale, decimals int) []string {
	out := make([]string, len(p.manifest.Blocks))
	for i := range out {
		out[i] = "."
	}
	for _, x := range p.cells[cell] {
		v, how, ok := measured(x, m.Name)
		switch {
		case ok:
			out[x.Block-1] = limitMark(how) + fixed(v/unit.size, decimals)
		case x.Outcome.Kind != record.OK:
			out[x.Block-1] = "broke"
		default:
			out[x.Block-1] = "-"
		}
	}
	s := stat.Describe(p.values(cell, m.Name))
	spread := []string{"-", "-", "-"}
	if s.N > 0 {
		spread[0] = fixed(s.Median/unit.size, decimals)
	}
	if s.N > 1 {
		spread[1] = digits(s.SD/unit.size, 2)
	}
	if !math.IsNaN(s.CV) {
		spread[2] = share(s.CV)
	}
	return append(out, spread...)
}

// sampleDecimals gives the decimals for the values of a table: those that show
// the spread of its quietest cell.
func (p *page) sampleDecimals(g group, m record.MetricInfo, unit scale) int {
	quiet, large := math.Inf(1), 0.0
	for _, c := range g.conditions {
		for _, arm := range p.manifest.Arms {
			s := p.describe(arm.Name, c, m)
			if s.N > 0 {
				large = max(large, math.Abs(s.Mean)/unit.size)
			}
			if s.SD > 0 {
				quiet = min(quiet, s.SD/unit.size)
			}
		}
	}
	if !math.IsInf(quiet, 0) {
		return max(decimals(quiet), 0)
	}
	if large == 0 || large == math.Trunc(large) {
		return 0 // counts
	}
	return max(0, 3-int(math.Floor(math.Log10(large)))) // four digits
}

// block is the rows of a table whose columns may be too many.
type block struct {
	heads  []string
	legend []string
	labels [][]string
	cells  [][]string
}

func (b *block) add(labels, cells []string) {
	b.labels = append(b.labels, slices.Clone(labels))
	b.cells = append(b.cells, cells)
}

// tables cuts the columns into as few tables as fit. It fails where the labels
// leave no room for one.
func (b *block) tables(columns []string, width int) ([]text.Table, bool) {
	var out []text.Table
	last := len(columns) - len(spreadHeads)
	for from := 0; from < len(columns); {
		var fits []text.Table
		to := from
		for n := from + 1; n <= len(columns); n++ {
			if n > last && n < len(columns) {
				continue // not between median, sd and CV
			}
			t := b.slice(columns, from, n)
			if !t.Fits(width) {
				break
			}
			fits, to = []text.Table{t}, n
		}
		if to == from {
			return nil, false
		}
		out = append(out, fits...)
		from = to
	}
	return out, true
}

func (b *block) slice(columns []string, from, to int) text.Table {
	t := text.Table{Head: slices.Concat(b.heads, columns[from:to])}
	for i := range t.Head {
		t.Right = append(t.Right, i >= len(b.heads))
	}
	for i := range b.cells {
		t.Rows = append(t.Rows, slices.Concat(b.labels[i], b.cells[i][from:to]))
	}
	return t
}
