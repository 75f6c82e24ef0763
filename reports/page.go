package reports

import (
	"fmt"
	"slices"
	"strings"

	"spindle/reports/internal/text"
)

// page is a report in the making.
type page struct {
	*analysis
	sheet  text.Page
	plots  []string // file names of what is drawn
	notes  notes
	common []string        // doubts that all comparisons share
	said   map[string]bool // what need not be said again; see once
}

func (p *page) heading(level int, title string) {
	p.sheet.Heading(level, title)
}

// say writes a paragraph.
func (p *page) say(format string, args ...any) {
	p.sheet.Say(fmt.Sprintf(format, args...))
}

// figure puts a plot in its place, if it was drawn.
func (p *page) figure(name, title string) {
	if file := name + ".svg"; slices.Contains(p.plots, file) {
		p.sheet.Figure(file, text.Clean(title))
	}
}

// list writes bullets.
func (p *page) list(items []string) { p.sheet.List(items) }

// layout is one way to write a table, with what a reader must know to read it.
type layout struct {
	text.Table
	legend []string
}

// table writes the first of the layouts that fits, or else the rows as a list.
func (p *page) table(layouts []layout, rows []string) {
	for _, l := range layouts {
		if l.Fits(p.sheet.Columns()) {
			p.list(l.legend)
			p.sheet.Table(l.Table)
			return
		}
	}
	p.list(rows)
}

// notes are numbered in the order in which rows refer to them. The same text
// has one number.
type notes struct {
	texts  []string
	number map[string]int
}

// refer gives the mark for notes, " [1,3-5]", or nothing.
func (n *notes) refer(texts []string) string {
	var numbers []int
	for _, t := range texts {
		if n.number[t] == 0 {
			if n.number == nil {
				n.number = map[string]int{}
			}
			n.texts = append(n.texts, t)
			n.number[t] = len(n.texts)
		}
		numbers = append(numbers, n.number[t])
	}
	if len(numbers) == 0 {
		return ""
	}
	return text.NBSP + "[" + spans(numbers) + "]"
}

// spans gives numbers in order, with runs of three and more as "3-5".
func spans(numbers []int) string {
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if j-i < 2 {
			j = i
			parts = append(parts, fmt.Sprint(numbers[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", numbers[i], numbers[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// writeNotes writes what the rows referred to, and what holds for all rows.
func (p *page) writeNotes() {
	if len(p.notes.texts)+len(p.common) == 0 {
		return
	}
	p.heading(2, "Notes")
	for _, t := range p.common {
		p.say("All comparisons: %s.", t)
	}
	for i, t := range p.notes.texts {
		p.sheet.Note(fmt.Sprintf("[%d]", i+1), t)
	}
}
