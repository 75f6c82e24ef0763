package nbd

import (
	"math/bits"
	"sync"
)

// buffer holds one payload behind room for a reply header, so that header and
// data leave in one write.
type buffer struct {
	bytes []byte // replyLen + payload
	class int    // index in the pool, or -1
}

const (
	minClass = 12 // 4 KiB
	maxClass = 25 // 32 MiB
)

// pool keeps payload buffers by power of two. Buffers that nobody used for two
// collections are freed by sync.Pool.
type pool struct {
	classes [maxClass - minClass + 1]sync.Pool
}

// get gives a buffer with room for n bytes of payload. Its content is
// arbitrary.
func (p *pool) get(n int) *buffer {
	class := max(bits.Len(uint(max(n, 1)-1)), minClass) - minClass
	if class >= len(p.classes) {
		return &buffer{bytes: make([]byte, replyLen+n), class: -1}
	}
	b, ok := p.classes[class].Get().(*buffer)
	if !ok {
		b = &buffer{bytes: make([]byte, replyLen+1<<(class+minClass)), class: class}
	}
	return b
}

func (p *pool) put(b *buffer) {
	if b != nil && b.class >= 0 {
		p.classes[b.class].Put(b)
	}
}
