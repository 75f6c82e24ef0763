package nbd

import (
	"fmt"
	"net"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// directMax is the longest reply that the goroutine which completes a request
// writes itself. A change of thread costs more than copying a page, and where
// that goroutine runs at raised priority it is also worth more; but copying a
// MiB takes some 0.2 ms, and holds up the backend's next completion.
const directMax = 1<<20 + replyLen

// sender gets replies onto the connection.
type sender struct {
	conn   net.Conn
	raw    syscall.RawConn // nil where the connection is no socket
	pool   *pool
	budget *budget
	broken func() // called once, when writing failed

	mu      sync.Mutex
	wake    sync.Cond
	queue   []*reply
	writing bool // the writer has replies in hand
	closed  bool
	err     error
	ended   chan struct{}
}

func newSender(conn net.Conn, p *pool, b *budget, broken func()) *sender {
	s := &sender{conn: conn, pool: p, budget: b, broken: broken, ended: make(chan struct{})}
	s.wake.L = &s.mu
	if sc, ok := conn.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			s.raw = raw
		}
	}
	go s.write()
	return s
}

// send takes a finished request. It does not block on the connection.
func (s *sender) send(r *reply) {
	r.encode()
	s.mu.Lock()
	if s.closed || s.err != nil {
		s.mu.Unlock()
		s.release(r)
		return
	}
	if !s.writing && len(s.queue) == 0 && len(r.rest) <= directMax && s.try(r) {
		s.mu.Unlock()
		s.finish(r)
		return
	}
	s.queue = append(s.queue, r)
	s.mu.Unlock()
	s.wake.Signal()
}

// try writes as much as the socket takes at once, and reports whether that was
// all. An error is left for the writer to meet.
func (s *sender) try(r *reply) bool {
	if s.raw == nil {
		return false
	}
	s.raw.Write(func(fd uintptr) bool {
		n, err := unix.SendmsgN(int(fd), r.rest, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if err == nil {
			r.rest = r.rest[n:]
		}
		return true
	})
	return len(r.rest) == 0
}

// write is the writer goroutine: it sends what send could not.
func (s *sender) write() {
	defer close(s.ended)
	var batch []*reply
	var bufs net.Buffers
	for {
		s.mu.Lock()
		s.writing = false
		for len(s.queue) == 0 && !s.closed {
			s.wake.Wait()
		}
		if len(s.queue) == 0 {
			s.mu.Unlock()
			return
		}
		batch, s.queue = s.queue, batch[:0]
		failed := s.err != nil
		s.writing = true
		s.mu.Unlock()

		if !failed {
			bufs = bufs[:0]
			for _, r := range batch {
				bufs = append(bufs, r.rest)
			}
			out := bufs // WriteTo eats its receiver
			if _, err := out.WriteTo(s.conn); err != nil {
				failed = true
				s.fail(fmt.Errorf("write reply: %w", err))
			}
		}
		for i, r := range batch {
			if failed {
				s.release(r)
			} else {
				s.finish(r)
			}
			batch[i] = nil
		}
	}
}

func (s *sender) fail(err error) {
	s.mu.Lock()
	first := s.err == nil
	if first {
		s.err = err
	}
	s.mu.Unlock()
	if first {
		s.broken()
	}
}

// finish tells the backend that the answer left.
func (s *sender) finish(r *reply) {
	if r.Sent != nil {
		r.Sent()
	}
	s.release(r)
}

func (s *sender) release(r *reply) {
	s.pool.put(r.buf)
	r.buf, r.Data, r.rest = nil, nil, nil
	s.budget.give(r.took)
}

// close ends the writer; replies that come later are dropped.
func (s *sender) close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.wake.Signal()
	<-s.ended
	return s.err
}
