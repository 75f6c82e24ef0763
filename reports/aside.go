package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"spindle/reports/internal/text"
	"spindle/reports/record"
	"spindle/reports/stat"
)

// What samples keep beside their metrics, and no verdict is made of: operations
// that stalled, write storms, in how many pieces files lie, what writeback did.
// It tells why a number is as it is.

// aside writes that of a section, where there is any.
func (p *page) aside(g group) {
	p.stalls(g)
	p.storms(g)
	p.pieces(g)
	p.writeback(g)
	p.tracing(g)
}

// keptJSON reads a file of JSON out of a sample. It is false for one that is not
// there, or that a guest died over.
func keptJSON(dir, name string, into any) bool {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return false
	}
	defer f.Close()
	return json.NewDecoder(io.LimitReader(f, countersMax)).Decode(into) == nil
}

// keptLines reads a file of JSON lines out of a sample, up to the first that is
// none. It is false for one that is not there.
func keptLines[T any](dir, name string) (all []T, ok bool) {
	f, err := os.Open(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) || err != nil {
		return nil, false
	}
	defer f.Close()
	if lines(io.LimitReader(f, countersMax), func(v T) { all = append(all, v) }) != nil {
		return nil, false
	}
	return all, true
}

// eachCell calls f for every arm of every condition of a section that has a
// sample which ran to its end.
func (p *page) eachCell(g group, f func(c record.Condition, arm string, samples []record.Sample)) {
	for _, c := range g.conditions {
		for _, arm := range p.manifest.Arms {
			var whole []record.Sample
			for _, s := range p.cells[record.Cell{Arm: arm.Name, Condition: c}] {
				if s.Outcome.Kind == record.OK {
					whole = append(whole, s)
				}
			}
			if len(whole) > 0 {
				f(c, arm.Name, whole)
			}
		}
	}
}

// asideTable is a table with a row for each cell of a section.
type asideTable struct {
	p    *page
	axes axes
	head []string // behind condition and arm
	rows [][]string
}

func (p *page) asideTable(g group, head ...string) *asideTable {
	return &asideTable{p: p, axes: axesOf(g.conditions), head: head}
}

func (t *asideTable) add(c record.Condition, arm string, cells ...string) {
	t.rows = append(t.rows, append(append(t.axes.labels(c), text.Clean(arm)), cells...))
}

// write puts it on the page, or its rows as a list where it is too wide.
func (t *asideTable) write() {
	full := text.Table{Head: append(append(t.axes.heads(), "arm"), t.head...), Rows: t.rows}
	full.Right = append(make([]bool, len(t.axes)+1), make([]bool, len(t.head))...)
	for i := range t.head {
		full.Right[len(t.axes)+1+i] = true
	}
	// Narrower: conditions and arm in one column of their own lines is a list.
	var list []string
	for _, r := range t.rows {
		n := len(t.axes) + 1
		var parts []string
		for i, cell := range r[n:] {
			parts = append(parts, t.head[i]+" "+cell)
		}
		list = append(list, strings.Join(r[:n], " ")+": "+strings.Join(parts, ", "))
	}
	t.p.table([]layout{{Table: full}}, list)
}

// once says something the first time that a page has it.
func (p *page) once(format string, args ...any) {
	said := fmt.Sprintf(format, args...)
	if p.said[said] {
		return
	}
	if p.said == nil {
		p.said = map[string]bool{}
	}
	p.said[said] = true
	p.say("%s", said)
}

// amount shows a mean of counts: whole where it is.
func amount(v float64) string {
	if v == math.Trunc(v) && v < 1e6 {
		return fixed(v, 0)
	}
	return digits(v, 3)
}

// meanOf is the mean of what f gives of samples.
func meanOf[T any](all []T, f func(T) float64) float64 {
	var vs []float64
	for _, x := range all {
		vs = append(vs, f(x))
	}
	if len(vs) == 0 {
		return 0
	}
	return stat.Describe(vs).Mean
}
