package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"spindle/reports/internal/text"
	"spindle/reports/record"
)

// stall is a line of stalls.jsonl: an operation that took longer than its
// workload allows.
type stall struct {
	Workload  string  `json:"workload"`
	Op        string  `json:"op"`
	PID       int     `json:"pid"`
	Start     int64   `json:"start_ns"`
	Length    int64   `json:"length_ns"`
	Beside    int     `json:"beside"`
	InFlight  *uint64 `json:"in_flight"`
	Writeback *uint64 `json:"nr_writeback"`
}

// began is when a sample's counters began, on the clock of its stalls.
type began struct {
	Monotonic int64   `json:"monotonic_ns"`
	T         float64 `json:"t"`
}

// mostListed is how many stalls of a section are told one by one; the samples
// have all of them.
const mostListed = 5

// listed is a stall with where it was.
type listed struct {
	stall
	where string
	at    float64 // seconds from the beginning of the timed part; negative if not known
}

// stalls tells how often and how long operations stalled.
func (p *page) stalls(g group) {
	t := p.asideTable(g, "n", "longest", "sum", "depth")
	var worst []listed
	any := false
	p.eachCell(g, func(c record.Condition, arm string, samples []record.Sample) {
		var n, sum, longest, flight float64
		read := 0
		for _, s := range samples {
			dir := p.sampleDir(s)
			all, ok := keptLines[stall](dir, record.Stalls)
			if !ok {
				continue
			}
			read++
			from, known := beginning(dir)
			for _, x := range all {
				length := float64(x.Length) / 1e9
				n, sum, longest = n+1, sum+length, max(longest, length)
				if x.InFlight != nil {
					flight = max(flight, float64(*x.InFlight))
				}
				l := listed{stall: x, at: -1, where: fmt.Sprintf("%s, %s, block"+text.NBSP+"%d", p.label(g, c), text.Clean(arm), s.Block)}
				if known {
					l.at = float64(x.Start-from) / 1e9
				}
				worst = append(worst, l)
			}
		}
		if read == 0 {
			return
		}
		any = any || n > 0
		t.add(c, arm, amount(n/float64(read)), dash(n > 0, withUnit(longest, "s", 3)), dash(n > 0, withUnit(sum/float64(read), "s", 3)), dash(flight > 0, fixed(flight, 0)))
	})
	if len(t.rows) == 0 || !any {
		return
	}
	p.heading(3, "Stalls")
	p.once("Operations that took longer than the workload's limit of a stall: how many a boot, the longest, their sum a boot, and the most requests that the drive was seen with meanwhile. All are in stalls.jsonl of their samples.")
	t.write()
	slices.SortStableFunc(worst, func(a, b listed) int { return cmp.Compare(b.Length, a.Length) })
	var items []string
	for _, l := range worst[:min(mostListed, len(worst))] {
		items = append(items, l.String())
	}
	p.say("The longest:")
	p.list(items)
}

// beginning gives the monotonic time at which a sample's timed part began.
func beginning(dir string) (int64, bool) {
	all, ok := keptLines[began](dir, record.Diskstats)
	if !ok || len(all) == 0 {
		return 0, false
	}
	return all[0].Monotonic - int64(all[0].T*1e9), all[0].Monotonic != 0
}

// String says it in a line: what, how long, when, and what was going on.
func (l listed) String() string {
	parts := []string{fmt.Sprintf("%s: %s of %s by process"+text.NBSP+"%d", l.where, withUnit(float64(l.Length)/1e9, "s", 3), text.Clean(l.Op), l.PID)}
	if l.at >= 0 {
		parts = append(parts, "from "+withUnit(l.at, "s", 3)+" on")
	}
	if l.Beside > 0 {
		parts = append(parts, plural(l.Beside, "other", "others")+" beside it")
	}
	if l.InFlight != nil {
		parts = append(parts, plural(int(min(*l.InFlight, 1<<31)), "request", "requests")+" in flight")
	}
	if l.Writeback != nil {
		parts = append(parts, plural(int(min(*l.Writeback, 1<<31)), "page", "pages")+" under writeback")
	}
	return keep(strings.Join(parts, ", "))
}

// dash stands for what is not there.
func dash(ok bool, s string) string {
	if !ok {
		return "-"
	}
	return s
}
