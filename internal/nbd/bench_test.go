package nbd

import (
	"fmt"
	"testing"
)

// sink takes everything and answers at once; it measures the protocol alone.
type sink struct{ async bool }

func (sink) Size() int64 { return 1 << 40 }

func (s sink) Submit(r *Request, done func(error)) {
	if s.async {
		go done(nil)
		return
	}
	done(nil)
}

// BenchmarkRoundTrip is one 4 KiB read over the socket pair and back, at a
// given number in flight; client and server share this process.
func BenchmarkRoundTrip(b *testing.B) {
	for _, async := range []bool{false, true} {
		for _, depth := range []int{1, 16} {
			b.Run(fmt.Sprintf("async=%v/depth=%d", async, depth), func(b *testing.B) {
				c, _ := start(b, sink{async}, Options{})
				b.ReportAllocs()
				sent := 0
				for sent < min(depth, b.N) {
					c.request(0, cmdRead, uint64(sent), 0, 4096, nil)
					sent++
				}
				for range b.N {
					c.reply(4096)
					if sent < b.N {
						c.request(0, cmdRead, uint64(sent), 0, 4096, nil)
						sent++
					}
				}
			})
		}
	}
}

// BenchmarkWrite is the rate at which payloads get in, one at a time.
func BenchmarkWrite(b *testing.B) {
	const size = 1 << 20
	c, _ := start(b, sink{}, Options{})
	payload := make([]byte, size)
	b.SetBytes(size)
	for i := range b.N {
		c.request(0, cmdWrite, uint64(i), 0, size, payload)
		c.reply(0)
	}
}
