package qmp

import (
	"context"
	"sync"
)

// EventsDropped is the name of the event that a subscriber finds in place of
// those it was too slow for; its data has their number as "count". QEMU has no
// event of this name.
const EventsDropped = "SPINDLE_EVENTS_DROPPED"

// queueLen bounds what is kept for one subscriber. QEMU emits a handful of
// events in the life of a machine; a stream of I/O errors is the exception.
const queueLen = 256

// Dropped returns how many events e stands for, 0 if e is an event of QEMU.
func Dropped(e Event) int {
	if e.Event != EventsDropped {
		return 0
	}
	n, _ := e.Data["count"].(int)
	return n
}

// fanout hands every event to every subscriber and never waits for one.
type fanout struct {
	mu     sync.Mutex
	early  queue // until somebody subscribes
	asked  bool  // somebody did
	closed bool
	subs   map[*subscription]struct{}
}

type subscription struct {
	queue queue
	wake  chan struct{} // one token: the queue changed, or the stream closed
}

func (f *fanout) publish(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.asked {
		f.early.push(e)
		return
	}
	for s := range f.subs {
		s.queue.push(e)
		s.poke()
	}
}

// close ends the stream; subscribers still get what is queued.
func (f *fanout) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for s := range f.subs {
		s.poke()
	}
}

func (f *fanout) subscribe(ctx context.Context) <-chan Event {
	s := &subscription{wake: make(chan struct{}, 1)}
	f.mu.Lock()
	if !f.asked {
		f.asked = true
		s.queue, f.early = f.early, nil
		f.subs = make(map[*subscription]struct{})
	}
	f.subs[s] = struct{}{}
	f.mu.Unlock()

	out := make(chan Event)
	go func() {
		defer close(out)
		defer func() {
			f.mu.Lock()
			delete(f.subs, s)
			f.mu.Unlock()
		}()
		for {
			f.mu.Lock()
			e, ok := s.queue.pop()
			closed := f.closed
			f.mu.Unlock()
			switch {
			case ok:
				select {
				case out <- e:
				case <-ctx.Done():
					return
				}
			case closed:
				return
			default:
				select {
				case <-s.wake:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return out
}

func (s *subscription) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// queue holds events in order, at most queueLen of them; where it was full, one
// EventsDropped more.
type queue []Event

func (q *queue) push(e Event) {
	n := len(*q)
	switch {
	case n < queueLen:
		*q = append(*q, e)
	case (*q)[n-1].Event == EventsDropped:
		last := (*q)[n-1].Data
		last["count"] = last["count"].(int) + 1
	default:
		*q = append(*q, Event{Event: EventsDropped, Data: map[string]any{"count": 1}, Timestamp: e.Timestamp})
	}
}

func (q *queue) pop() (Event, bool) {
	if len(*q) == 0 {
		return Event{}, false
	}
	e := (*q)[0]
	*q = (*q)[1:]
	return e, true
}
