package drive

import (
	"time"

	"spindle/internal/nbd"
	"spindle/pipeline/drive/timing"
)

// Sizes at which an [Early] is gauged. The larger one is what every bus passes
// on in one piece; USB storage takes no more than 120 KiB.
const (
	EarlySmall = 4 << 10
	EarlyLarge = 64 << 10
)

// earlyMost is up to where the line through both is trusted.
const earlyMost = 1 << 20

// Early is how much before they are due answers leave. A guest's write has moved
// its data before the drive answers, and its read moves them after that.
type Early struct{ Read, Write Lead }

// Lead is that of requests of EarlySmall and of EarlyLarge; moving the data costs
// an emulated CPU time too.
type Lead struct{ Small, Large time.Duration }

// of is for a request of that many bytes. It goes on along the line through
// both; one that would fall with the size is taken for level.
func (e Lead) of(length int64) time.Duration {
	if e.Large <= e.Small || length <= EarlySmall {
		return e.Small
	}
	return e.Small + time.Duration(float64(e.Large-e.Small)*float64(min(length, earlyMost)-EarlySmall)/(EarlyLarge-EarlySmall))
}

// soon is how much early the model's next answer leaves. With several requests
// in the drive it is the time of small ones: the guest moves the data of one
// while the drive is at the next. d.mu is held.
func (d *Drive) soon() time.Duration {
	if len(d.waiting) == 1 {
		for _, q := range d.waiting {
			switch q.Op { // the others move none
			case nbd.Read:
				return d.ahead.Read.of(q.Length)
			case nbd.Write:
				return d.ahead.Write.of(q.Length)
			}
		}
	}
	return d.ahead.Read.Small
}

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
		d.change(nil, Early{})
		return
	}
	d.change(func() timing.Model { return &steady{service: service} }, Early{})
}

// maxLag is how far the clock may be ahead of the model's time: half a
// revolution and a bit, by which chance moves each request anyway.
const maxLag = 5 * time.Millisecond

// lag is how far the last answer left behind its time. What arrives now was sent
// because of an answer that was late, by that much later than the model would
// have had it, and so the model takes it for having come that much earlier. A
// host that is late now and then, because a hypervisor took the CPU away, so
// gives single times that are long, and short ones after them, and the mean of
// the model. Without it every late answer would make the drive slower for good,
// and a reader would lose a revolution of read-ahead to it.
//
// It is no more than what the host was late, so that a chain of requests is never
// faster than the model, and no more than maxLag, so that a host that cannot keep
// up shows. The price: of several programs at work, the next to come is served as
// if it had been the one that waited.
func (d *Drive) lag() time.Duration {
	return min(max(time.Duration(d.behind.Load()), 0), maxLag)
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
