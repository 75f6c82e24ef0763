package reports

import (
	"fmt"
	"slices"
	"strings"

	"spindle/internal/fault"
	"spindle/reports/internal/text"
	"spindle/reports/record"
)

// Report is a run judged, or several runs of one plan.
type Report struct{ a *analysis }

// Open reads and judges the run in dir. It needs no lock: a run that goes on
// gives a partial report.
func Open(dir string) (*Report, error) {
	s, err := open(dir)
	if err != nil {
		return nil, err
	}
	return &Report{analyse(s)}, nil
}

func open(dir string) (source, error) {
	run, err := record.Open(dir)
	if err != nil {
		return source{}, fmt.Errorf("report: %w", err)
	}
	s, err := load(run)
	if err != nil {
		return source{}, fmt.Errorf("report %s: %w", dir, err)
	}
	return s, nil
}

// Against gives the same samples with another axis compared: "filesystem",
// "scheduler", "drive" or "kernel". baseline picks the value that the others
// are compared with; empty for the first of the plan.
func (r *Report) Against(axis, baseline string) (*Report, error) {
	s, err := r.a.turn(axis, baseline)
	if err != nil {
		return nil, err
	}
	return &Report{analyse(s)}, nil
}

// Summary gives what the run came to, in numbers.
func (r *Report) Summary() Summary { return r.a.summary() }

// formats gives a report in one piece, by the names that Render takes.
func formats() map[string]func(*analysis, bool) ([]byte, error) {
	return map[string]func(*analysis, bool) ([]byte, error){
		"md": func(a *analysis, wide bool) ([]byte, error) {
			return []byte(a.page(columns(wide), nil).Markdown()), nil
		},
		"text": func(a *analysis, wide bool) ([]byte, error) {
			return []byte(a.page(columns(wide), nil).Plain()), nil
		},
		"html":  func(a *analysis, _ bool) ([]byte, error) { return a.html() },
		"json":  func(a *analysis, _ bool) ([]byte, error) { return a.json() },
		"csv":   func(a *analysis, _ bool) ([]byte, error) { return a.csv() },
		"junit": func(a *analysis, _ bool) ([]byte, error) { return a.junit() },
		"tap":   func(a *analysis, _ bool) ([]byte, error) { return a.tap(), nil },
	}
}

// Formats names what Render can give.
func Formats() []string {
	var out []string
	for name := range formats() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Render gives the report in one piece: "md" (Markdown of 72 columns), "text",
// "html" (one file, plots inside), "json", "csv" (every value), "junit" or
// "tap" (one test for each comparison). wide lifts the 72 columns.
func (r *Report) Render(format string, wide bool) ([]byte, error) {
	f, ok := formats()[format]
	if !ok {
		return nil, fault.Planf("report: no format %q: want one of %s", format, strings.Join(Formats(), ", "))
	}
	out, err := f(r.a, wide)
	if err != nil {
		return nil, fmt.Errorf("report as %s: %w", format, err)
	}
	return out, nil
}

func columns(wide bool) int {
	if wide {
		return text.Unlimited
	}
	return text.Width
}

// html gives the report as one page with its plots inside.
func (a *analysis) html() ([]byte, error) {
	pictures, err := a.draw()
	if err != nil {
		return nil, err
	}
	figures := map[string][]byte{}
	var names []string
	for _, p := range pictures {
		figures[p.name+".svg"] = p.SVG
		names = append(names, p.name+".svg")
	}
	return []byte(a.page(text.Unlimited, names).HTML(figures)), nil
}

// Write makes the report of the run in dir, there; see [Report.WriteTo].
func Write(dir string) (Summary, error) {
	r, err := Open(dir)
	if err != nil {
		return Summary{}, err
	}
	return r.Summary(), r.WriteTo(dir)
}

// WriteTo puts report.md, report.html, values.csv and the plots into dir, over
// those of an earlier report.
func (r *Report) WriteTo(dir string) error {
	a := r.a
	pictures, err := a.draw()
	if err != nil {
		return fmt.Errorf("report %s: %w", dir, err)
	}
	values, err := a.csv()
	if err != nil {
		return fmt.Errorf("report %s: %w", dir, err)
	}
	files := map[string][]byte{"values.csv": values}
	figures := map[string][]byte{}
	var names []string
	for _, p := range pictures {
		files[p.name+".svg"], files[p.name+".png"] = p.SVG, p.PNG
		figures[p.name+".svg"] = p.SVG
		names = append(names, p.name+".svg")
	}
	files["report.html"] = []byte(a.page(text.Unlimited, names).HTML(figures))
	for name, data := range files {
		if err := put(dir, name, data); err != nil {
			return err
		}
	}
	// Last: it names the others.
	return put(dir, "report.md", []byte(a.page(text.Width, names).Markdown()))
}
