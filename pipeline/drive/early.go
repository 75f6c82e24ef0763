package drive

import (
	"time"

	"spindle/pipeline/drive/timing"
)

// Gauge makes every request take the same time from its arrival, whatever the
// drive's model; 0 ends that, and the drive is untimed. It serves to measure
// what a guest adds to a drive's time: from an answer leaving here until its
// program runs again, and from there until the next request arrives. In an
// emulated guest that slept meanwhile it is 1 to 2 ms, a tenth of a seek.
//
// A drive that answers that much early ([Options.Early]) makes up for it, so
// that a program in the guest sees the times of the model. It cannot become
// faster than the model by it: the model goes by its own time, in which a
// request arrives at the earliest when the answer before it was due. A cache's
// answer, of 0.1 ms, leaves at once. The price is that a guest whose CPU was
// awake sees a single answer too early by what it did not need.
func (d *Drive) Gauge(service time.Duration) {
	if service == 0 {
		d.change(nil, 0)
		return
	}
	d.change(func() timing.Model { return &steady{service: service} }, 0)
}

// HasTiming says whether the drive has a model at all.
func (d *Drive) HasTiming() bool { return d.newModel != nil }

// steady completes every request a fixed time after its arrival.
type steady struct {
	service time.Duration
	queue   []timing.Completion
}

func (s *steady) Arrive(now time.Duration, r timing.Request) {
	s.queue = append(s.queue, timing.Completion{ID: r.ID, Start: now, At: now + s.service})
}

func (s *steady) Next() (time.Duration, bool) {
	if len(s.queue) == 0 {
		return 0, false
	}
	return s.queue[0].At, true
}

func (s *steady) Advance(now time.Duration) []timing.Completion {
	n := 0
	for n < len(s.queue) && s.queue[n].At <= now {
		n++
	}
	out := s.queue[:n:n]
	s.queue = s.queue[n:]
	return out
}
