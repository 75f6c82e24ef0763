package check

import (
	"fmt"
	"sync"
	"time"

	"spindle/internal/nbd"
	"spindle/pipeline/drive/timing"
)

// tape is a backend that notes what comes.
type tape struct {
	nbd.Backend
	mu   sync.Mutex
	seen []timing.Request
}

func (t *tape) Submit(r *nbd.Request, done func(error)) {
	q := timing.Request{LBA: r.Offset / timing.SectorSize, Sectors: r.Length / timing.SectorSize, FUA: r.FUA}
	switch r.Op {
	case nbd.Read:
		q.Op = timing.Read
	case nbd.Flush:
		q.Op = timing.Flush
	case nbd.Trim:
		q.Op = timing.Trim
	default:
		q.Op = timing.Write
	}
	t.mu.Lock()
	q.ID = uint64(len(t.seen)) + 1
	t.seen = append(t.seen, q)
	t.mu.Unlock()
	t.Backend.Submit(r, done)
}

// rewind gives what came since the last time.
func (t *tape) rewind() []timing.Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := t.seen
	t.seen = nil
	return seen
}

// replay asks a fresh model how long it takes over the requests, with depth of
// them in it all the time.
func replay(m timing.Model, requests []timing.Request, depth int) (time.Duration, error) {
	var now time.Duration
	next, inside := 0, 0
	for next < len(requests) || inside > 0 {
		for next < len(requests) && inside < depth {
			m.Arrive(now, requests[next])
			next++
			inside++
		}
		due, ok := m.Next()
		if !ok {
			return 0, fmt.Errorf("replay: the model stands still with %d requests in it", inside)
		}
		now = max(now, due)
		inside -= len(m.Advance(now))
	}
	return now, nil
}
