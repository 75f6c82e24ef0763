package reports

import "spindle/reports/record"

// Markdown gives the report of a run as it stands.
func Markdown(run *record.Run) ([]byte, error) {
	a, err := analyse(run)
	if err != nil {
		return nil, err
	}
	return a.markdown(nil), nil
}

// markdown gives the report; plots names the files drawn beside it.
func (a *analysis) markdown(plots []string) []byte {
	p := &page{analysis: a}
	p.common = p.general()
	p.opening()
	p.changes()
	p.results()
	p.broken()
	p.attemptsThatDoNotCount()
	p.writeNotes()
	p.reading()
	p.measured()
	p.everySample()
	p.files(plots)
	return []byte(p.out.String())
}
