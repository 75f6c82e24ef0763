package drive

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"spindle/internal/nbd"
)

// Stats is what a drive has done since it was made, or since ResetStats.
type Stats struct {
	Reads, Writes, Flushes, Trims, Zeroes       int64 // requests that arrived
	ReadBytes, WriteBytes, TrimBytes, ZeroBytes int64
	Forced                                      int64 // of the writes, with FUA
	MaxDepth                                    int   // most requests in flight at a time

	// Of the requests under the model's timing.
	Timed       int64
	MeanWait    time.Duration // from arrival until the drive took it up
	MeanService time.Duration // from then until it was due
	Lateness    Lateness

	Oldest  time.Duration // how long the oldest request in flight has been there
	Urgency string        // scheduling of the timing thread: deadline, nice -15, short slice or default
}

// Lateness is how much later than due answers left, as measured after the last
// byte was given to the kernel.
type Lateness struct {
	Count               int64
	OutOfRange          int64 // early, or later than a minute; not in the percentiles
	Mean, P50, P99, Max time.Duration
}

// ModelError is the mean lateness as a part of the mean service; 0 without
// timed requests.
func (s Stats) ModelError() float64 {
	if s.MeanService <= 0 {
		return 0
	}
	return float64(s.Lateness.Mean) / float64(s.MeanService)
}

// lateRange is the longest lateness that the histogram holds.
const lateRange = time.Minute

// recorder gathers Stats.
type recorder struct {
	urgency string

	mu       sync.Mutex
	s        Stats // means and lateness are made on request
	wait     time.Duration
	service  time.Duration
	late     *hdrhistogram.Histogram // ns
	lateSum  time.Duration
	inFlight map[*request]struct{}
}

func newRecorder() *recorder {
	return &recorder{late: hdrhistogram.New(1, int64(lateRange), 3), inFlight: map[*request]struct{}{}}
}

func (r *recorder) arrived(q *request, depth int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight[q] = struct{}{}
	s := &r.s
	s.MaxDepth = max(s.MaxDepth, depth)
	count := func(n, bytes *int64) { *n++; *bytes += q.Length }
	switch q.Op {
	case nbd.Read:
		count(&s.Reads, &s.ReadBytes)
	case nbd.Write:
		count(&s.Writes, &s.WriteBytes)
	case nbd.Trim:
		count(&s.Trims, &s.TrimBytes)
	case nbd.WriteZeroes:
		count(&s.Zeroes, &s.ZeroBytes)
	case nbd.Flush:
		s.Flushes++
	}
	if q.FUA && (q.Op == nbd.Write || q.Op == nbd.WriteZeroes) {
		s.Forced++
	}
}

func (r *recorder) answered(q *request) {
	r.mu.Lock()
	delete(r.inFlight, q)
	r.mu.Unlock()
}

func (r *recorder) served(wait, service time.Duration) {
	r.mu.Lock()
	r.s.Timed++
	r.wait += wait
	r.service += service
	r.mu.Unlock()
}

func (r *recorder) sent(late time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.s.Lateness
	l.Count++
	l.Max = max(l.Max, late)
	r.lateSum += late
	if late < 0 || r.late.RecordValue(int64(late)) != nil {
		l.OutOfRange++
	}
}

// Stats gives what the drive has done.
func (d *Drive) Stats() Stats {
	now := monotonic()
	r := d.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.s
	s.Urgency = r.urgency
	for q := range r.inFlight {
		s.Oldest = max(s.Oldest, now-q.arrived)
	}
	if s.Timed > 0 {
		s.MeanWait = r.wait / time.Duration(s.Timed)
		s.MeanService = r.service / time.Duration(s.Timed)
	}
	if l := &s.Lateness; l.Count > 0 {
		l.Mean = r.lateSum / time.Duration(l.Count)
		l.P50 = time.Duration(r.late.ValueAtQuantile(50))
		l.P99 = time.Duration(r.late.ValueAtQuantile(99))
	}
	return s
}

// ResetStats starts counting anew.
func (d *Drive) ResetStats() {
	r := d.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	r.s = Stats{}
	r.wait, r.service, r.lateSum = 0, 0, 0
	r.late.Reset()
}
