package iostat

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"spindle/workloads/sample"
)

// Interval is one of a series.
type Interval struct {
	T         float64 `json:"t"`            // its end, seconds since the sampler started
	Monotonic int64   `json:"monotonic_ns"` // its end, CLOCK_MONOTONIC
	Columns
}

// Series puts readings together to intervals of at least every, as iostat's
// sample period. The last one may be shorter.
func Series(readings []sample.Disk, every time.Duration) []Interval {
	var out []Interval
	from := 0
	for i := 1; i < len(readings); i++ {
		// The sampler's ticks are a little late now and then, and what is
		// late is not the next one's.
		long := time.Duration(readings[i].Monotonic-readings[from].Monotonic) >= every-every/20
		if !long && i < len(readings)-1 {
			continue
		}
		if c := Between(readings[from], readings[i]); c.Seconds > 0 {
			out = append(out, Interval{readings[i].T, readings[i].Monotonic, c})
		}
		from = i
	}
	return out
}

// Write writes a series in the classic form, a line of time before each row.
func Write(w io.Writer, device string, series []Interval) error {
	b := bufio.NewWriter(w)
	for _, i := range series {
		fmt.Fprintf(b, "t=%.1f s, %.1f s\n%s\n%s\n\n", i.T, i.Seconds, ClassicHeader, i.Classic(device))
	}
	return b.Flush()
}
