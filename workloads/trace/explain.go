package trace

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Explained is what writeback did, by the events of the word Explain. What was
// not traced is zero or empty.
type Explained struct {
	Seconds float64 `json:"seconds"`
	Lost    int64   `json:"events_lost"` // a number other than 0 makes all below too small
	Events  int     `json:"events"`

	// Held are the tasks that balance_dirty_pages made wait, the longest first.
	// The kernel counts its pauses in jiffies, 4 ms at 250 Hz.
	Held []Held `json:"held,omitempty"`
	// Chunks is what a flusher wrote of a file in one go
	// (writeback_single_inode's "wrote"), where it wrote anything.
	Chunks Chunks `json:"chunks"`
	// Depth is how many requests the drive had, by block_rq_issue and
	// block_rq_complete.
	Depth Depth `json:"depth"`

	Series []Interval `json:"series,omitempty"`
}

// Held is a task that had to wait for others' pages to be written.
type Held struct {
	Task    string  `json:"task"`
	PID     int     `json:"pid"`
	Seconds float64 `json:"seconds"`
	Pauses  int     `json:"pauses"`
	Longest float64 `json:"longest_seconds"`
}

// Chunks are pages written in one go.
type Chunks struct {
	N     int     `json:"n"`
	Pages int64   `json:"pages"`
	Mean  float64 `json:"mean_pages"`
	P50   int64   `json:"p50_pages"`
	Max   int64   `json:"max_pages"`
}

// Depth is the queue at the drive. Busy leaves out the time that it was empty.
type Depth struct {
	Requests int64   `json:"requests"`
	Mean     float64 `json:"mean"`
	Busy     float64 `json:"mean_busy"`
	Max      int     `json:"max"`
	Bytes    float64 `json:"mean_bytes"` // of a request with data
}

// Interval is a part of the time.
type Interval struct {
	T     float64 `json:"t"`             // its end, seconds since the beginning
	Held  float64 `json:"held_seconds"`  // pauses that began in it, of all tasks
	Pages int64   `json:"written_pages"` // by flushers
	Chunk float64 `json:"chunk_pages"`   // mean
	Depth float64 `json:"depth"`         // mean
	Most  int     `json:"depth_max"`
}

// Explainer turns events into what they tell.
type Explainer struct {
	pause, chunk, issue, complete, requeue Format
	Drives                                 map[int64]bool // numbers of the drives, major<<20|minor; empty is all
}

// NewExplainer reads the formats of the events from tracefs. Those that the
// kernel does not have explain nothing.
func NewExplainer(tracefs string) (*Explainer, error) {
	x := &Explainer{Drives: map[int64]bool{}}
	for i, to := range []*Format{&x.pause, &x.chunk, &x.issue, &x.complete, &x.requeue} {
		to.ID = -1
		text, err := os.ReadFile(filepath.Join(tracefs, "events", explaining[i], "format"))
		if err != nil {
			continue
		}
		if *to, err = ParseFormat(string(text)); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// Drive adds a drive by its file "dev", such as "8:0".
func (x *Explainer) Drive(dev string) {
	var major, minor int64
	if n, _ := fmt.Sscanf(dev, "%d:%d", &major, &minor); n == 2 {
		x.Drives[major<<20|minor] = true
	}
}

// Explain goes through the events between two times on CLOCK_MONOTONIC.
func (x *Explainer) Explain(events []Event, from, to time.Duration, every time.Duration, names map[int]string) Explained {
	out := Explained{Seconds: (to - from).Seconds(), Events: len(events)}
	if to <= from || every <= 0 {
		return out
	}
	n := int((to - from + every - 1) / every)
	series := make([]Interval, n)
	chunks := make([]int, n)
	at := func(e uint64) int { return min(max(0, int((time.Duration(e)-from)/every)), n-1) }
	held := map[int]*Held{}
	var pages []int64
	q := queue{series: series, from: from, every: every, last: from}
	var bytes, sized float64
	for _, e := range events {
		if t := time.Duration(e.At); t < from || t > to {
			continue
		}
		switch e.ID() {
		case x.pause.ID:
			ms := x.pause.Int(e, "pause")
			if ms <= 0 { // it was let go
				continue
			}
			h := held[e.PID()]
			if h == nil {
				h = &Held{PID: e.PID(), Task: cmp.Or(names[e.PID()], "<...>")}
				held[e.PID()] = h
			}
			s := float64(ms) / 1e3
			h.Pauses++
			h.Seconds += s
			h.Longest = max(h.Longest, s)
			series[at(e.At)].Held += s
		case x.chunk.ID:
			if w := x.chunk.Int(e, "wrote"); w > 0 {
				pages = append(pages, w)
				series[at(e.At)].Pages += w
				chunks[at(e.At)]++
			}
		case x.issue.ID:
			if x.ours(x.issue, e) {
				q.move(time.Duration(e.At), +1)
				out.Depth.Requests++
				if b := x.issue.Int(e, "nr_sector") * 512; b > 0 {
					bytes, sized = bytes+float64(b), sized+1
				}
			}
		case x.complete.ID:
			if x.ours(x.complete, e) {
				q.move(time.Duration(e.At), -1)
			}
		case x.requeue.ID:
			if x.ours(x.requeue, e) {
				q.move(time.Duration(e.At), -1)
			}
		}
	}
	q.move(to, 0)
	total := (to - from).Seconds()
	out.Depth.Mean, out.Depth.Max = q.area/total, q.most
	if q.busy > 0 {
		out.Depth.Busy = q.area / q.busy
	}
	if sized > 0 {
		out.Depth.Bytes = bytes / sized
	}
	for i := range series {
		begin := every * time.Duration(i)
		end := min(begin+every, to-from)
		series[i].T = end.Seconds()
		series[i].Depth /= (end - begin).Seconds()
		if chunks[i] > 0 {
			series[i].Chunk = float64(series[i].Pages) / float64(chunks[i])
		}
	}
	out.Series = series
	out.Chunks = chunksOf(pages)
	for _, h := range held {
		out.Held = append(out.Held, *h)
	}
	slices.SortFunc(out.Held, func(a, b Held) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.PID, b.PID))
	})
	return out
}

func (x *Explainer) ours(f Format, e Event) bool {
	return len(x.Drives) == 0 || x.Drives[f.Int(e, "dev")]
}

func chunksOf(pages []int64) Chunks {
	c := Chunks{N: len(pages)}
	if c.N == 0 {
		return c
	}
	slices.Sort(pages)
	for _, p := range pages {
		c.Pages += p
	}
	c.Mean, c.P50, c.Max = float64(c.Pages)/float64(c.N), pages[(c.N-1)/2], pages[c.N-1]
	return c
}

// queue sums the number of requests up over time.
type queue struct {
	series      []Interval
	from, every time.Duration
	last        time.Duration
	depth, most int
	area, busy  float64
}

// move notes a change at a time. A completion without an issue is of a request
// from before the trace.
func (q *queue) move(at time.Duration, by int) {
	for q.last < at {
		i := min(int((q.last-q.from)/q.every), len(q.series)-1)
		end := min(at, q.from+q.every*time.Duration(i+1))
		if end <= q.last {
			end = at
		}
		s := (end - q.last).Seconds()
		q.area += float64(q.depth) * s
		q.series[i].Depth += float64(q.depth) * s
		q.series[i].Most = max(q.series[i].Most, q.depth)
		if q.depth > 0 {
			q.busy += s
		}
		q.last = end
	}
	q.depth = max(0, q.depth+by)
	q.most = max(q.most, q.depth)
}
