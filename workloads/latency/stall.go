package latency

import (
	"cmp"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Stall is one operation that took longer than it should. Start is on
// CLOCK_MONOTONIC, as counters and the kernel's log are.
type Stall struct {
	Op     string `json:"op"` // "read", "commit", "fsync"
	PID    int    `json:"pid"`
	Start  int64  `json:"start_ns"`
	Length int64  `json:"length_ns"`
	// Beside is how many other operations of the list were under way at some
	// time of this one: 15 of 16 readers stalled together are one event.
	Beside int `json:"beside"`
	// InFlight and Writeback are the most that the counters beside the workload
	// showed meanwhile: requests at the drive, pages under writeback. Nil where
	// no sample fell into the stall.
	InFlight  *uint64 `json:"in_flight,omitempty"`
	Writeback *uint64 `json:"nr_writeback,omitempty"`
}

// End is when it was over, on the clock of Start.
func (s Stall) End() int64 { return s.Start + s.Length }

// mostStalls is how many a recorder keeps. A run in which everything stalls is
// told by its histogram.
const mostStalls = 2000

// Recorder times one kind of operation of one process. It is not for several
// threads.
type Recorder struct {
	Op    string        `json:"op"`
	PID   int           `json:"pid"`
	Times *Histogram    `json:"times"`
	Stall time.Duration `json:"-"` // what takes longer goes on the list
	List  []Stall       `json:"stalls,omitempty"`
	Lost  int           `json:"stalls_lost,omitempty"` // stalls that the list had no room for
}

// NewRecorder makes one; what takes longer than stall goes on its list.
func NewRecorder(op string, stall time.Duration) *Recorder {
	return &Recorder{Op: op, PID: unix.Getpid(), Times: New(), Stall: stall}
}

// Record notes an operation that took d and has ended just now.
func (r *Recorder) Record(d time.Duration) {
	r.Times.Record(d)
	if d <= r.Stall {
		return
	}
	if len(r.List) == mostStalls {
		r.Lost++
		return
	}
	r.List = append(r.List, Stall{Op: r.Op, PID: r.PID, Start: int64(Now() - d), Length: int64(d)})
}

// Now is CLOCK_MONOTONIC.
func Now() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0 // it cannot fail for this clock
	}
	return time.Duration(ts.Nano())
}

// Merge puts the stalls of several recorders in the order of their start and
// counts for each those beside it.
func Merge(rs ...*Recorder) []Stall {
	var all []Stall
	for _, r := range rs {
		all = append(all, r.List...)
	}
	slices.SortFunc(all, func(a, b Stall) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Op, b.Op))
	})
	// Of those before it in the list, all count that have not ended; of those
	// behind, all that begin before this one ends.
	starts := make([]int64, len(all))
	ends := make([]int64, len(all))
	for i, s := range all {
		starts[i], ends[i] = s.Start, s.End()
	}
	slices.Sort(ends)
	for i := range all {
		begun, _ := slices.BinarySearch(starts, all[i].End()) // begin before this one ends
		ended, _ := slices.BinarySearch(ends, all[i].Start+1) // over when this one begins
		all[i].Beside = begun - ended - 1
	}
	return all
}
