package torture

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Printed is what the published program, or this one, printed of a run.
type Printed struct {
	Fresh  bool      // it made its file, which it says
	Writes []float64 // seconds, with four digits
	Fsyncs []float64
	Done   int // as it counts them; 0 if it did not come to its end
}

// The private build of Mason's mail has no colon after "write time".
var (
	lineForm = regexp.MustCompile(`^write time:? ([0-9]{1,9}\.[0-9]{1,9})s fsync time: ([0-9]{1,9}\.[0-9]{1,9})s$`)
	doneForm = regexp.MustCompile(`^run done ([0-9]{1,9}) fsyncs total, killing random writer$`)
)

// Parse reads the output of a run, or of a mail that quotes it. Other lines, and
// the marks of a quotation, are left out. The line of the random writer may be
// anywhere, or missing: it dies with what it has not written out.
func Parse(text string) (Printed, error) {
	var p Printed
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimLeft(line, "> "))
		if line == "setting up random write file" {
			p.Fresh = true
		}
		if m := doneForm.FindStringSubmatch(line); m != nil {
			p.Done, _ = strconv.Atoi(m[1]) // of the form's digits
		}
		m := lineForm.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		w, _ := strconv.ParseFloat(m[1], 64)
		f, _ := strconv.ParseFloat(m[2], 64)
		p.Writes, p.Fsyncs = append(p.Writes, w), append(p.Fsyncs, f)
	}
	if len(p.Writes) == 0 {
		return p, fmt.Errorf("read fsync-tester's output: no line with its times")
	}
	return p, nil
}
