package reports

import (
	"fmt"
	"strings"

	"spindle/reports/internal/plots"
	"spindle/reports/internal/text"
	"spindle/reports/record"
)

// flushing is what a sample's trace tells of writeback (package trace).
type flushing struct {
	Seconds float64 `json:"seconds"`
	Lost    int64   `json:"events_lost"`
	Held    []struct {
		Task    string  `json:"task"`
		Seconds float64 `json:"seconds"`
		Pauses  int     `json:"pauses"`
		Longest float64 `json:"longest_seconds"`
	} `json:"held"`
	Chunks struct {
		N     int     `json:"n"`
		Pages int64   `json:"pages"`
		Mean  float64 `json:"mean_pages"`
		Max   int64   `json:"max_pages"`
	} `json:"chunks"`
	Depth struct {
		Requests int64   `json:"requests"`
		Mean     float64 `json:"mean"`
		Busy     float64 `json:"mean_busy"`
		Max      int     `json:"max"`
		Bytes    float64 `json:"mean_bytes"`
	} `json:"depth"`
}

// held is how long all tasks were held together.
func (f flushing) held() (s float64) {
	for _, h := range f.Held {
		s += h.Seconds
	}
	return s
}

// writeback tells what it did, of sections that were traced for that.
func (p *page) writeback(g group) {
	t := p.asideTable(g, "held", "chunk", "depth", "request")
	var who []string
	lost := false
	p.eachCell(g, func(c record.Condition, arm string, samples []record.Sample) {
		var all []flushing
		for _, s := range samples {
			var f flushing
			if keptJSON(p.sampleDir(s), record.Writeback, &f) && f.Seconds > 0 {
				all = append(all, f)
				lost = lost || f.Lost > 0
			}
		}
		if len(all) == 0 {
			return
		}
		t.add(c, arm,
			withUnit(meanOf(all, flushing.held), "s", 3),
			amount(meanOf(all, func(f flushing) float64 { return f.Chunks.Mean })),
			digits(meanOf(all, func(f flushing) float64 { return f.Depth.Busy }), 3),
			withUnit(meanOf(all, func(f flushing) float64 { return f.Depth.Bytes }), "B", 3))
		if line := heldTasks(all); line != "" {
			who = append(who, p.label(g, c)+", "+text.Clean(arm)+": "+line)
		}
	})
	if len(t.rows) == 0 {
		return
	}
	p.heading(3, "What writeback did")
	p.once("From the kernel's tracepoints, a boot: how long tasks were held in balance_dirty_pages (all of them together), how many pages a flusher wrote of a file in one go, how many requests the drive had while it had any, and how large they were.")
	if lost {
		p.say("Events were lost in some samples: their figures are too small.")
	}
	t.write()
	if len(who) > 0 {
		p.say("Tasks that were held the longest:")
		p.list(who)
	}
}

// heldTasks names the tasks that were held the longest, each name with the mean
// of its boots.
func heldTasks(all []flushing) string {
	sums := map[string]float64{}
	var order []string
	for _, f := range all {
		for _, h := range f.Held {
			if sums[h.Task] == 0 {
				order = append(order, h.Task)
			}
			sums[h.Task] += h.Seconds
		}
	}
	var parts []string
	for _, name := range order[:min(3, len(order))] {
		parts = append(parts, fmt.Sprintf("%s %s", text.Clean(name), withUnit(sums[name]/float64(len(all)), "s", 3)))
	}
	return strings.Join(parts, ", ")
}

// flushSeries is what of a trace is drawn over time.
type flushSeries struct {
	Series []struct {
		T     float64 `json:"t"`
		Held  float64 `json:"held_seconds"`
		Pages float64 `json:"written_pages"`
		Chunk float64 `json:"chunk_pages"`
		Depth float64 `json:"depth"`
	} `json:"series"`
}

// overFlushing gives the plot of what writeback did over time, one line for each
// sample, so that arms can be laid over each other.
func (a *analysis) overFlushing(g group, c record.Condition) (plots.Lines, bool) {
	l := plots.Lines{Arms: a.armNames(), Title: plain(a.label(g, c) + ", " + g.workload.Title + ": what writeback did, one line for each sample")}
	panels := []plots.Panel{
		{Axis: "tasks held, s a second"}, {Axis: "by flushers, MB/s"}, {Axis: "a chunk, pages"}, {Axis: "queue depth"},
	}
	for i, arm := range a.manifest.Arms {
		for _, s := range a.cells[record.Cell{Arm: arm.Name, Condition: c}] {
			var f flushSeries
			if !keptJSON(a.sampleDir(s), record.Writeback, &f) || len(f.Series) < 2 {
				continue
			}
			lines := make([]plots.Series, len(panels))
			last := 0.0
			for _, x := range f.Series {
				dt := x.T - last
				if !(dt > 0) {
					break
				}
				for j, y := range []float64{x.Held / dt, x.Pages * pageBytes / 1e6 / dt, x.Chunk, x.Depth} {
					lines[j].Arm = i
					add(&lines[j], last+dt/2, y)
				}
				last = x.T
			}
			for j := range panels {
				if len(lines[j].X) > 1 {
					panels[j].Series = append(panels[j].Series, lines[j])
				}
			}
		}
	}
	for _, p := range panels {
		if len(p.Series) > 0 {
			l.Panels = append(l.Panels, p)
		}
	}
	return l, len(l.Panels) > 0
}
