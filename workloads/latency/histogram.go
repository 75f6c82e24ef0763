package latency

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Longest is what a histogram tells apart at most; what takes longer counts as
// this in percentiles.
const Longest = 2 * time.Hour

// Histogram counts latencies. New makes one.
type Histogram struct {
	h   *hdrhistogram.Histogram // ns
	sum time.Duration
	max time.Duration
}

// New makes an empty histogram of some 200 kB.
func New() *Histogram { return &Histogram{h: hdrhistogram.New(1, int64(Longest), 3)} }

// Record counts one latency. A negative one, which a clock that goes back would
// give, counts as nothing.
func (h *Histogram) Record(d time.Duration) {
	d = max(d, 0)
	h.h.RecordValue(int64(min(d, Longest))) // within its range it cannot fail
	h.sum += d
	h.max = max(h.max, d)
}

// N is how many were counted.
func (h *Histogram) N() int64 { return h.h.TotalCount() }

// Max is the longest, exactly; 0 of none.
func (h *Histogram) Max() time.Duration { return h.max }

// Sum is all of them together.
func (h *Histogram) Sum() time.Duration { return h.sum }

// Mean is exact; 0 of none.
func (h *Histogram) Mean() time.Duration {
	if h.N() == 0 {
		return 0
	}
	return h.sum / time.Duration(h.N())
}

// Quantile gives the shortest latency that the share q (0 to 1) of them does not
// exceed, as fio does; 0 of none. It is the middle of its bucket, but never more
// than the maximum.
func (h *Histogram) Quantile(q float64) time.Duration {
	want := math.Ceil(q*float64(h.N()) - 1e-9)
	seen := int64(0)
	for _, b := range h.h.Distribution() {
		if seen += b.Count; b.Count > 0 && float64(seen) >= want {
			return min(time.Duration(b.From+(b.To-b.From)/2), h.max)
		}
	}
	return h.max
}

// Add adds another's counts.
func (h *Histogram) Add(o *Histogram) {
	h.h.Merge(o.h)
	h.sum += o.sum
	h.max = max(h.max, o.max)
}

// wire is the form on disk: the buckets that hold something, as pairs of a value
// in them and their count.
type wire struct {
	Sum  int64      `json:"sum_ns"`
	Max  int64      `json:"max_ns"`
	Bins [][2]int64 `json:"bins_ns"`
}

// MarshalJSON writes the counts.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	w := wire{Sum: int64(h.sum), Max: int64(h.max), Bins: [][2]int64{}}
	for _, b := range h.h.Distribution() {
		if b.Count > 0 {
			w.Bins = append(w.Bins, [2]int64{b.From, b.Count})
		}
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON wrote. Counts that no histogram has are
// an error.
func (h *Histogram) UnmarshalJSON(text []byte) error {
	var w wire
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	if w.Sum < 0 || w.Max < 0 {
		return errors.New("histogram: negative time")
	}
	*h = *New()
	total := int64(0)
	for _, b := range w.Bins {
		if b[0] < 0 || b[0] > int64(Longest) || b[1] < 1 || b[1] > math.MaxInt64-total {
			return fmt.Errorf("histogram: %d latencies of %d ns", b[1], b[0])
		}
		total += b[1]
		if err := h.h.RecordValues(b[0], b[1]); err != nil {
			return fmt.Errorf("histogram: %w", err)
		}
	}
	h.sum, h.max = time.Duration(w.Sum), time.Duration(w.Max)
	return nil
}
