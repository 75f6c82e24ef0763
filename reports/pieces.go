package reports

import (
	"spindle/reports/record"
)

// extents is in how many pieces a sample's files lie on the drive.
type extents struct {
	Files           int   `json:"files"`
	Extents         int   `json:"extents"`
	Discontiguities int   `json:"discontiguities"`
	Bytes           int64 `json:"bytes"`
	Skipped         int   `json:"skipped"`
}

// pieces tells how fragmented the workload's files are after it.
func (p *page) pieces(g group) {
	t := p.asideTable(g, "files", "extents", "mean", "seeks")
	more := false
	p.eachCell(g, func(c record.Condition, arm string, samples []record.Sample) {
		var all []extents
		for _, s := range samples {
			var x extents
			if keptJSON(p.sampleDir(s), record.Extents, &x) && x.Files > 0 && x.Extents > 0 {
				all = append(all, x)
			}
		}
		if len(all) == 0 {
			return
		}
		perFile := func(x extents) float64 { return float64(x.Extents) / float64(x.Files) }
		more = more || meanOf(all, perFile) > 1
		t.add(c, arm,
			amount(meanOf(all, func(x extents) float64 { return float64(x.Files + x.Skipped) })),
			amount(meanOf(all, perFile)),
			withUnit(meanOf(all, func(x extents) float64 { return float64(x.Bytes) / float64(x.Extents) }), "B", 3),
			amount(meanOf(all, func(x extents) float64 { return float64(x.Discontiguities) / float64(x.Files) })))
	})
	if len(t.rows) == 0 {
		return
	}
	p.heading(3, "Fragmentation")
	if !more {
		p.say("Every file lies in one extent, in all arms.")
		return
	}
	p.once("The workload's files after it, by FIEMAP: how many they are, extents a file, an extent's mean size, and how many a file do not begin where the one before ends.")
	t.write()
}
