package reports

import (
	"io"
	"path/filepath"

	"spindle/reports/internal/plots"
	"spindle/reports/record"
	"spindle/reports/stat"
)

// ioLine is a line of diskstats.jsonl as iostat reads it: counts since boot.
type ioLine struct {
	T            float64 `json:"t"` // seconds
	Reads        uint64  `json:"reads"`
	ReadSectors  uint64  `json:"read_sectors"`
	ReadMs       uint32  `json:"read_ms"` // 32 bits wide in the kernel: differences wrap
	Writes       uint64  `json:"writes"`
	WriteSectors uint64  `json:"write_sectors"`
	WriteMs      uint32  `json:"write_ms"`
	InFlight     uint64  `json:"in_flight"`
	BusyMs       uint32  `json:"busy_ms"`
}

// pageLine is a line of vmstat.jsonl, in pages.
type pageLine struct {
	T          float64 `json:"t"`
	Dirty      uint64  `json:"nr_dirty"`
	Writeback  uint64  `json:"nr_writeback"`
	Threshold  uint64  `json:"nr_dirty_threshold"`
	Background uint64  `json:"nr_dirty_background_threshold"`
}

// timeline is one sample over time as iostat -x shows it.
type timeline struct {
	at                    []float64 // ends of the intervals, one more than each of the next
	reads, writes         []float64 // 1/s
	read, written         []float64 // MB/s
	readWait, writeWait   []float64 // ms
	busy                  []float64 // %
	stalls                []plots.Span
	pagesAt               []float64
	dirty, writeback      []float64 // MiB
	threshold, background []float64 // MiB
	last                  ioLine
	begun                 bool
}

// readTimeline reads a sample's counters; files that are not there leave their
// part empty.
func readTimeline(dir string) (*timeline, error) {
	t := &timeline{}
	if err := eachLine(filepath.Join(dir, record.Diskstats), func(r io.Reader) error { return lines(r, t.io) }); err != nil {
		return nil, err
	}
	return t, eachLine(filepath.Join(dir, record.Vmstat), func(r io.Reader) error { return lines(r, t.pages) })
}

// io adds an interval, by the formulas of iostat. An interval in which time
// stood still or a count fell is left out, and the next one reaches over it.
//
// A stall is an interval at both ends of which requests were in flight, and in
// which none ended: the drive gave nothing back.
func (t *timeline) io(d ioLine) {
	if !t.begun {
		t.last, t.begun = d, true
		t.at = append(t.at, d.T)
		return
	}
	l := t.last
	dt := d.T - l.T
	if !(dt > 0) || d.Reads < l.Reads || d.Writes < l.Writes || d.ReadSectors < l.ReadSectors || d.WriteSectors < l.WriteSectors {
		return
	}
	r, w := float64(d.Reads-l.Reads), float64(d.Writes-l.Writes)
	t.at = append(t.at, d.T)
	t.reads, t.writes = append(t.reads, r/dt), append(t.writes, w/dt)
	t.read = append(t.read, float64(d.ReadSectors-l.ReadSectors)*sectorBytes/1e6/dt)
	t.written = append(t.written, float64(d.WriteSectors-l.WriteSectors)*sectorBytes/1e6/dt)
	t.readWait = append(t.readWait, per(float64(d.ReadMs-l.ReadMs), r))
	t.writeWait = append(t.writeWait, per(float64(d.WriteMs-l.WriteMs), w))
	t.busy = append(t.busy, min(100, float64(d.BusyMs-l.BusyMs)/(10*dt)))
	if l.InFlight > 0 && d.InFlight > 0 && r == 0 && w == 0 {
		t.stalls = append(t.stalls, plots.Span{From: l.T, To: d.T})
	}
	t.last = d
}

// per divides; nothing per nothing is nothing.
func per(sum, count float64) float64 {
	if count == 0 {
		return 0
	}
	return sum / count
}

func (t *timeline) pages(v pageLine) {
	if n := len(t.pagesAt); n > 0 && v.T <= t.pagesAt[n-1] {
		return
	}
	mib := func(pages uint64) float64 { return float64(pages) * pageBytes / (1 << 20) }
	t.pagesAt = append(t.pagesAt, v.T)
	t.dirty, t.writeback = append(t.dirty, mib(v.Dirty)), append(t.writeback, mib(v.Writeback))
	t.threshold, t.background = append(t.threshold, mib(v.Threshold)), append(t.background, mib(v.Background))
}

// tracks gives the quantities of a sample, each for the picture of all arms.
func (t *timeline) tracks(arm string) []plots.Track {
	steps := func(axis string, curves ...plots.Curve) plots.Track {
		for i := range curves {
			curves[i].X = t.at
		}
		return plots.Track{Axis: axis, Arm: arm, Curves: curves, Shades: t.stalls}
	}
	out := []plots.Track{
		steps("MB/s", plots.Curve{Name: "write", Y: t.written}, plots.Curve{Name: "read", Y: t.read}),
		steps("IO/s", plots.Curve{Name: "write", Y: t.writes}, plots.Curve{Name: "read", Y: t.reads}),
		steps("await, ms", plots.Curve{Name: "write", Y: t.writeWait}, plots.Curve{Name: "read", Y: t.readWait}),
		steps("util, %", plots.Curve{Y: t.busy}),
	}
	if len(t.pagesAt) > 1 {
		out = append(out, plots.Track{Axis: "pages, MiB", Arm: arm, Shades: t.stalls, Curves: []plots.Curve{
			{Name: "dirty", X: t.pagesAt, Y: t.dirty}, {Name: "writeback", X: t.pagesAt, Y: t.writeback},
			{Name: "dirty limit", X: t.pagesAt, Y: t.threshold}, {Name: "background", X: t.pagesAt, Y: t.background},
		}})
	}
	return out
}

// median gives the sample of a cell whose primary value is the middle one: it
// stands for the others where one must be picked.
func (a *analysis) median(cell record.Cell, metric string) (record.Sample, bool) {
	middle := stat.Describe(a.values(cell, metric)).Median
	var out record.Sample
	found := false
	var off float64
	for _, s := range a.cells[cell] {
		v, _, ok := measured(s, metric)
		if d := abs(v - middle); ok && (!found || d < off) {
			out, off, found = s, d, true
		}
	}
	return out, found
}

func abs(v float64) float64 { return max(v, -v) }

// iostat gives the picture of one sample of each arm over time, if they have
// counters.
func (a *analysis) iostat(g group, c record.Condition) (plots.Stack, bool, error) {
	ms := a.metrics(c)
	if len(ms) == 0 {
		return plots.Stack{}, false, nil
	}
	var all [][]plots.Track
	for _, arm := range a.manifest.Arms {
		s, ok := a.median(record.Cell{Arm: arm.Name, Condition: c}, ms[0].Name)
		if !ok {
			continue
		}
		t, err := readTimeline(a.sampleDir(s))
		if err != nil {
			return plots.Stack{}, false, err
		}
		if len(t.at) > 1 {
			all = append(all, t.tracks(plain(arm.Name)))
		}
	}
	if len(all) == 0 {
		return plots.Stack{}, false, nil
	}
	s := plots.Stack{Title: plain(a.label(g, c) + ", " + g.workload.Title + ": the sample of each arm with its median " + ms[0].Name + "; grey: requests in flight and none came back")}
	for i := range all[0] { // the arms of a quantity above each other
		for _, tracks := range all {
			if i < len(tracks) {
				s.Tracks = append(s.Tracks, tracks[i])
			}
		}
	}
	return s, true, nil
}

// label names a condition within its section.
func (a *analysis) label(g group, c record.Condition) string {
	var where string
	for _, l := range axesOf(g.conditions).labels(c) {
		where += l + " "
	}
	if a.severalDrives() {
		where = c.Drive + " " + where
	}
	if where == "" {
		return c.Workload
	}
	return where[:len(where)-1]
}
