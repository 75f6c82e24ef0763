package pipe

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"spindle/workloads/latency"
)

// percentiles are those that the original prints.
var percentiles = [...]float64{50, 75, 90, 95, 99, 99.5, 99.9, 99.99, 99.999, 99.9999}

// Side is what was measured of the reads, or of the writes to the pipe.
type Side struct {
	Times *latency.Recorder `json:"times"`
	// Percentiles of the original's histogram, in microseconds, as printed.
	Percentiles map[string]uint64 `json:"percentiles_us"`
	Over        uint64            `json:"over"` // took longer than the wait
	Bytes       int64             `json:"bytes"`
	Seconds     float64           `json:"seconds"` // until the last of them was done
}

// Report is what was measured.
type Report struct {
	Read    Side            `json:"read"`
	Write   Side            `json:"write"`
	Extra   int             `json:"extra_threads"` // reads that found the resident reader busy
	Seconds float64         `json:"seconds"`       // all of it, with the second process and the sync
	Stalls  []latency.Stall `json:"stalls"`
}

func (s *side) report(start time.Time) Side {
	r := Side{Times: s.times, Over: s.plat.Over, Bytes: s.bytes, Percentiles: map[string]uint64{}}
	if s.plat.N() > 0 {
		r.Seconds = s.ended.Sub(start).Seconds()
	}
	for _, p := range percentiles {
		r.Percentiles[strconv.FormatFloat(p, 'f', -1, 64)] = s.plat.Percentile(p)
	}
	return r
}

// print writes the report in the original's form.
func (s *side) print(w io.Writer) {
	var b strings.Builder
	fmt.Fprintf(&b, "Latency percentiles (usec) (%s)\n", strings.ToUpper(s.name)+"ERS")
	for _, p := range percentiles {
		fmt.Fprintf(&b, "\t%2.4fth: %d\n", p, s.plat.Percentile(p))
	}
	fmt.Fprintf(&b, "Over=%d, min=%d, max=%d\n", s.plat.Over, s.plat.Min, s.plat.Max)
	io.WriteString(w, strings.Replace(b.String(), "WRITEERS", "WRITERS", 1))
}

// rate gives KiB/s in whole numbers, as it is printed.
func (s Side) rate() uint64 {
	if s.Seconds <= 0 {
		return 0
	}
	return uint64(float64(s.Bytes) / 1024 / s.Seconds)
}

func utoa(v uint64) string { return strconv.FormatUint(v, 10) }
