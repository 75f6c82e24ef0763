package reports

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"spindle/reports/internal/plots"
	"spindle/reports/internal/text"
	"spindle/reports/record"
)

// picture is a plot under its file name, without ending.
type picture struct {
	name string
	plots.Picture
}

// draw makes all plots of a run: the primary metric of each workload, and the
// counters over time of each condition whose samples have them.
func (a *analysis) draw() ([]picture, error) {
	var out []picture
	add := func(name string, p plots.Picture, err error) error {
		if err != nil {
			return fmt.Errorf("plot %s: %w", name, err)
		}
		out = append(out, picture{name, p})
		return nil
	}
	for _, g := range a.groups() {
		if d, ok := a.dots(g); ok {
			pic, err := d.Draw()
			if err := add(record.Slug("values", g.drive, g.workload.Name), pic, err); err != nil {
				return nil, err
			}
		}
		for _, c := range g.conditions {
			if err := a.drawCondition(g, c, add); err != nil {
				return nil, err
			}
		}
	}
	for _, l := range a.ladders() {
		pic, err := a.drawClients(l).Draw()
		if err := add(l.name(), pic, err); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// drawCondition makes the plots of one condition: its counters over time, all
// samples and then one of each arm in full, and its latencies.
func (a *analysis) drawCondition(g group, c record.Condition, add func(string, plots.Picture, error) error) error {
	at := []string{c.Drive, c.Filesystem, c.Scheduler, g.workload.Name}
	if c.Setup != "" {
		at = append(at, c.Setup)
	}
	named := func(kind string) string { return record.Slug(append([]string{kind}, at...)...) }
	l, ok, err := a.overTime(g, c)
	if err != nil {
		return err
	}
	if ok {
		pic, err := l.Draw()
		if err := add(named("time"), pic, err); err != nil {
			return err
		}
	}
	s, ok, err := a.iostat(g, c)
	if err != nil {
		return err
	}
	if ok {
		pic, err := s.Draw()
		if err := add(named("iostat"), pic, err); err != nil {
			return err
		}
	}
	q, ok, err := a.overRequests(g, c)
	if err != nil {
		return err
	}
	if ok {
		pic, err := q.Draw()
		if err := add(named("requests"), pic, err); err != nil {
			return err
		}
	}
	if f, ok := a.overFlushing(g, c); ok {
		pic, err := f.Draw()
		if err := add(named("writeback"), pic, err); err != nil {
			return err
		}
	}
	tails, err := a.tails(g, c)
	if err != nil {
		return err
	}
	for _, what := range slices.Sorted(maps.Keys(tails)) {
		pic, err := tails[what].Draw()
		if err := add(named("latency-"+what), pic, err); err != nil {
			return err
		}
	}
	return nil
}

func (a *analysis) armNames() []string {
	var out []string
	for _, arm := range a.manifest.Arms {
		out = append(out, plain(arm.Name))
	}
	return out
}

// plain makes one printable line of a name, without Markdown's escapes.
func plain(s string) string { return strings.ReplaceAll(text.Clean(s), `\`, "") }

// dots gives the plot of a section's primary metric.
func (a *analysis) dots(g group) (plots.Dots, bool) {
	ms := a.metrics(g.conditions[0])
	if len(ms) == 0 {
		return plots.Dots{}, false
	}
	m := ms[0]
	unit := a.unit(g.conditions[0], m)
	axis := m.Name
	if unit.name != "" {
		axis += " in " + unit.name
	}
	better := "less is better"
	if m.Direction == record.Higher {
		better = "more is better"
	}
	d := plots.Dots{Arms: a.armNames(), Title: plain(g.workload.Title + ": " + m.Name + ", " + better), Axis: plain(axis) + " (dots: samples; bars: mean with 95 % interval)"}
	if a.severalDrives() {
		d.Title = plain(g.drive) + ", " + d.Title
	}
	any := false
	for _, c := range g.conditions {
		r := plots.Row{Label: plain(strings.Join(axesOf(g.conditions).labels(c), " "))}
		for _, arm := range a.manifest.Arms {
			cell := record.Cell{Arm: arm.Name, Condition: c}
			s := a.describe(arm.Name, c, m)
			x := plots.Cell{Mean: s.Mean / unit.size, Low: s.Low / unit.size, High: s.High / unit.size}
			if s.N < 3 { // it would reach 12.7 standard errors to each side
				x.Low, x.High = math.NaN(), math.NaN()
			}
			for _, v := range a.values(cell, m.Name) {
				x.Values = append(x.Values, v/unit.size)
			}
			x.Note = plain(brokeWhen(a.cells[cell]))
			any = any || len(x.Values) > 0 || x.Note != ""
			r.Cells = append(r.Cells, x)
		}
		d.Rows = append(d.Rows, r)
	}
	return d, any
}

// overTime gives the plot of a condition's counters, where there are any.
func (a *analysis) overTime(g group, c record.Condition) (plots.Lines, bool, error) {
	where := strings.Join(axesOf(g.conditions).labels(c), " ")
	if a.severalDrives() {
		where = c.Drive + " " + where
	}
	l := plots.Lines{Arms: a.armNames(), Title: plain(where + ", " + g.workload.Title + ": one line for each sample")}
	written := plots.Panel{Axis: "written, MB/s"}
	read := plots.Panel{Axis: "read, MB/s"}
	dirty := plots.Panel{Axis: "dirty + writeback, MiB"}
	var mostRead, mostWritten float64
	for i, arm := range a.manifest.Arms {
		for _, s := range a.cells[record.Cell{Arm: arm.Name, Condition: c}] {
			k, err := readCounters(a.sampleDir(s), i)
			if err != nil {
				return l, false, err
			}
			for _, x := range []struct {
				to *plots.Panel
				s  plots.Series
			}{{&written, k.written}, {&read, k.read}, {&dirty, k.dirty}} {
				if len(x.s.X) > 1 {
					x.to.Series = append(x.to.Series, x.s)
				}
			}
			for j := range k.read.Y {
				mostRead, mostWritten = max(mostRead, k.read.Y[j]), max(mostWritten, k.written.Y[j])
			}
		}
	}
	if mostWritten > 0 && len(written.Series) > 0 { // one interval makes no line
		l.Panels = append(l.Panels, written)
	}
	if mostRead > 0.05*mostWritten && mostRead > 0 && len(read.Series) > 0 {
		l.Panels = append(l.Panels, read)
	}
	if len(dirty.Series) > 0 {
		l.Panels = append(l.Panels, dirty)
	}
	return l, len(l.Panels) > 0, nil
}
