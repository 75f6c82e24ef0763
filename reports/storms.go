package reports

import (
	"fmt"

	"spindle/reports/record"
	"spindle/reports/stat"
)

// bursts is what a sample found in a series of its counters.
type bursts struct {
	Bursts    int     `json:"bursts"`
	Period    float64 `json:"period_seconds"`
	Spread    float64 `json:"spread"`
	Base      float64 `json:"base"`
	Amplitude float64 `json:"amplitude"`
	Seconds   float64 `json:"burst_seconds"`
}

// periodic is the rule of package burst: three at nearly equal distances.
func (b bursts) periodic() bool { return b.Bursts >= 3 && b.Spread <= 0.2 }

// storms tells of writes and of read latencies that swell again and again, as
// under a checkpointer's fsync.
func (p *page) storms(g group) {
	for _, x := range []struct{ series, title, what, unit string }{
		{"w/s", "Write storms", "Requests a second", "1/s"},
		{"r_await", "Swells of read latency", "The drive's latency of a read (r_await)", "ms"},
	} {
		t := p.asideTable(g, "boots", "period", "base", "height", "each")
		p.eachCell(g, func(c record.Condition, arm string, samples []record.Sample) {
			var found []bursts
			for _, s := range samples {
				var all map[string]bursts
				if keptJSON(p.sampleDir(s), record.Bursts, &all) && all[x.series].periodic() {
					found = append(found, all[x.series])
				}
			}
			if len(found) == 0 {
				return
			}
			var periods []float64
			for _, b := range found {
				periods = append(periods, b.Period)
			}
			t.add(c, arm, fmt.Sprintf("%d/%d", len(found), len(samples)),
				withUnit(stat.Describe(periods).Median, "s", 3),
				digits(meanOf(found, func(b bursts) float64 { return b.Base }), 3),
				digits(meanOf(found, func(b bursts) float64 { return b.Amplitude }), 3),
				withUnit(meanOf(found, func(b bursts) float64 { return b.Seconds }), "s", 2))
		})
		if len(t.rows) == 0 {
			continue
		}
		p.heading(3, x.title)
		p.once("%s, in %s, in bursts at nearly equal distances: in how many boots, how far apart, the height above the base between them, and how long one is.", x.what, x.unit)
		t.write()
	}
}
