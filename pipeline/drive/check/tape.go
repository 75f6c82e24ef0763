package check

import (
	"fmt"
	"sync"
	"time"

	"spindle/pipeline/drive/timing"
)

// Tape notes what a drive was asked; see [drive.Options.Tape]. The zero Tape is
// empty.
type Tape struct {
	mu   sync.Mutex
	seen []timing.Request
}

// Note notes a request.
func (t *Tape) Note(q timing.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q.ID = uint64(len(t.seen)) + 1
	t.seen = append(t.seen, q)
}

// Rewind gives what came since the last time.
func (t *Tape) Rewind() []timing.Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := t.seen
	t.seen = nil
	return seen
}

// moves counts the requests that move data, and the sectors they move.
func moves(requests []timing.Request) (count int, sectors int64) {
	for _, q := range requests {
		if q.Op == timing.Read || q.Op == timing.Write {
			sectors += q.Sectors
			count++
		}
	}
	return count, sectors
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
