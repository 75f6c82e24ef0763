package nbd

import "sync"

// budget bounds what is with the backend: requests and bytes of payload.
type budget struct {
	mu              sync.Mutex
	freed           sync.Cond
	requests, bytes int
	maxRequests     int
	maxBytes        int
	closed          bool
}

func newBudget(requests, bytes int) *budget {
	b := &budget{maxRequests: requests, maxBytes: bytes}
	b.freed.L = &b.mu
	return b
}

// take waits until one more request with n bytes fits. A request larger than
// the whole budget passes alone. It reports false when the budget was closed.
func (b *budget) take(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.closed && b.requests > 0 && (b.requests >= b.maxRequests || b.bytes+n > b.maxBytes) {
		b.freed.Wait()
	}
	if b.closed {
		return false
	}
	b.requests++
	b.bytes += n
	return true
}

func (b *budget) give(n int) {
	b.mu.Lock()
	b.requests--
	b.bytes -= n
	b.mu.Unlock()
	b.freed.Broadcast()
}

// drain waits until nothing is taken, or the budget was closed.
func (b *budget) drain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.closed && b.requests > 0 {
		b.freed.Wait()
	}
}

// close ends all waiting.
func (b *budget) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.freed.Broadcast()
}
