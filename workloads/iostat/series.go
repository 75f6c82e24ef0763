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
	T         float64 `json:"t"`             // its end, seconds since the sampler started
	Monotonic int64   `json:"monotonic_ns"`  // its end, CLOCK_MONOTONIC
	CPU       *CPU    `json:"cpu,omitempty"` // nil where there was no reading
	Columns
}

// Series puts readings together to intervals of at least every, as iostat's
// sample period. The last one may be shorter. CPUs' readings are those taken with
// the drive's, known by their stamps.
func Series(readings []sample.Disk, cpus []sample.CPU, every time.Duration) []Interval {
	at := make(map[int64]sample.CPU, len(cpus))
	for _, c := range cpus {
		at[c.Monotonic] = c
	}
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
			x := Interval{T: readings[i].T, Monotonic: readings[i].Monotonic, Columns: c}
			a, ok1 := at[readings[from].Monotonic]
			b, ok2 := at[x.Monotonic]
			if ok1 && ok2 {
				cpu := BetweenCPU(a, b)
				x.CPU = &cpu
			}
			out = append(out, x)
		}
		from = i
	}
	return out
}

// Write writes a series in the classic form, each with its time and CPUs' shares
// above it.
func Write(w io.Writer, device string, series []Interval) error {
	b := bufio.NewWriter(w)
	for _, i := range series {
		fmt.Fprintf(b, "t=%.1f s, %.1f s\n", i.T, i.Seconds)
		if i.CPU != nil {
			fmt.Fprintf(b, "%s\n%s\n\n", CPUHeader, i.CPU)
		}
		fmt.Fprintf(b, "%s\n%s\n\n", ClassicHeader, i.Classic(device))
	}
	return b.Flush()
}
