package vhost

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	mostRing  = 1 << 15 // entries, by the standard
	mostParts = 1 << 10 // descriptors of one request: Linux uses up to 130

	descNext     = 1
	descWrite    = 2
	descIndirect = 4

	noInterrupt = 1 // a flag of the available ring
)

// queue is a split virtqueue (VIRTIO 1.2, 2.7).
type queue struct {
	index int
	num   uint32
	last  uint16 // of the available ring: the next to look at

	kick, call int // eventfds, or -1
	enabled    bool

	mem               *memory
	desc, avail, used []byte // nil: not set up

	mu      sync.Mutex // of used, pending and call
	next    uint16     // of the used ring
	pending bool       // completed something, and the guest was not told
}

// chain is one request in the ring: what we may read, then what we may write.
type chain struct {
	head    uint16
	out, in [][]byte
}

func newQueue(index int) *queue { return &queue{index: index, kick: -1, call: -1} }

// place sets the ring's three parts, by addresses of the front end's process.
func (q *queue) place(m *memory, desc, used, avail uint64) (err error) {
	n := uint64(q.num)
	if n == 0 {
		return errors.New("ring has no size")
	}
	if desc%16 != 0 || used%4 != 0 || avail%4 != 0 {
		return fmt.Errorf("ring at %#x, %#x, %#x: not aligned", desc, avail, used)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.desc, q.avail, q.used, q.mem = nil, nil, nil, m
	d, err := m.user(desc, 16*n)
	if err != nil {
		return fmt.Errorf("descriptors: %w", err)
	}
	a, err := m.user(avail, 4+2*n)
	if err != nil {
		return fmt.Errorf("available ring: %w", err)
	}
	u, err := m.user(used, 4+8*n)
	if err != nil {
		return fmt.Errorf("used ring: %w", err)
	}
	q.desc, q.avail, q.used = d, a, u
	q.next = uint16(word(u).Load() >> 16)
	return nil
}

// stop forgets the ring. What completes later is for nobody.
func (q *queue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.desc, q.avail, q.used, q.mem = nil, nil, nil, nil
	q.enabled, q.pending = false, false
}

// word is the flags and the index that both rings begin with: two numbers of
// 16 bits that one load reads.
func word(ring []byte) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&ring[0])) }

// pop takes the next request off the ring; ok is false if there is none.
func (q *queue) pop() (c chain, ok bool, err error) {
	if q.avail == nil || !q.enabled {
		return c, false, nil
	}
	idx := uint16(word(q.avail).Load() >> 16)
	switch ahead := idx - q.last; {
	case ahead == 0:
		return c, false, nil
	case uint32(ahead) > q.num:
		return c, false, fmt.Errorf("queue %d: %d requests in a ring of %d", q.index, ahead, q.num)
	}
	c.head = binary.LittleEndian.Uint16(q.avail[4+2*(uint32(q.last)%q.num):])
	q.last++
	if err := q.follow(&c); err != nil {
		return c, false, fmt.Errorf("queue %d: request %d: %w", q.index, c.head, err)
	}
	return c, true, nil
}

// follow collects the parts of a request.
func (q *queue) follow(c *chain) error {
	list, i, indirect := q.desc, uint32(c.head), false
	for n := 0; ; n++ {
		if uint64(i)*16 >= uint64(len(list)) {
			return fmt.Errorf("descriptor %d of %d", i, len(list)/16)
		}
		if n >= mostParts {
			return fmt.Errorf("more than %d descriptors", mostParts)
		}
		d := list[16*i:][:16]
		addr, size := binary.LittleEndian.Uint64(d), binary.LittleEndian.Uint32(d[8:])
		flags := binary.LittleEndian.Uint16(d[12:])
		if flags&descIndirect != 0 {
			if indirect || n > 0 || flags&descNext != 0 || size == 0 || size%16 != 0 {
				return errors.New("misplaced table of descriptors")
			}
			var err error
			if list, err = q.mem.at(addr, uint64(size)); err != nil {
				return err
			}
			i, indirect = 0, true
			continue
		}
		part, err := q.mem.at(addr, uint64(size))
		switch {
		case err != nil:
			return err
		case flags&descWrite != 0:
			c.in = appendPart(c.in, part)
		case len(c.in) > 0:
			return errors.New("a part to read after one to write")
		default:
			c.out = appendPart(c.out, part)
		}
		if flags&descNext == 0 {
			return nil
		}
		i = uint32(binary.LittleEndian.Uint16(d[14:]))
	}
}

// appendPart adds a part, or makes the last one longer where they are
// neighbours: that makes longer pieces of zeros, and fewer system calls.
func appendPart(parts [][]byte, p []byte) [][]byte {
	if len(p) == 0 {
		return parts
	}
	if n := len(parts); n > 0 {
		last := parts[n-1]
		if unsafe.Add(unsafe.Pointer(&last[0]), len(last)) == unsafe.Pointer(&p[0]) {
			// Both are slices of one mapping, at() cut their capacity.
			parts[n-1] = unsafe.Slice(&last[0], len(last)+len(p))
			return parts
		}
	}
	return append(parts, p)
}

// push answers a request: written bytes of its in parts hold something.
func (q *queue) push(head uint16, written uint32) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.used == nil {
		return
	}
	e := q.used[4+8*(uint32(q.next)%q.num):]
	binary.LittleEndian.PutUint32(e, uint32(head))
	binary.LittleEndian.PutUint32(e[4:], written)
	q.next++
	word(q.used).Store(uint32(q.next) << 16)
	if word(q.avail).Load()&noInterrupt != 0 {
		return
	}
	if q.call < 0 {
		q.pending = true
		return
	}
	one := [8]byte{1}
	unix.Write(q.call, one[:]) // a full counter is as good
}
