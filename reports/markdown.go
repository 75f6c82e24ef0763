package reports

import (
	"spindle/reports/internal/text"
	"spindle/reports/record"
)

// Markdown gives the report of a run as it stands.
func Markdown(run *record.Run) ([]byte, error) {
	s, err := load(run)
	if err != nil {
		return nil, err
	}
	return []byte(analyse(s).page(text.Width, nil).Markdown()), nil
}

// page lays the report out; plots names the files drawn beside it.
func (a *analysis) page(width int, plots []string) *text.Page {
	p := &page{analysis: a, plots: plots}
	p.sheet.Width = width
	p.common = p.general()
	p.opening()
	p.changes()
	p.results()
	p.againstClients()
	p.broken()
	p.attemptsThatDoNotCount()
	p.writeNotes()
	p.reading()
	p.measured()
	p.everySample()
	p.files(plots)
	return &p.sheet
}
