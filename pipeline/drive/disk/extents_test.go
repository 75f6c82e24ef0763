package disk

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The set against an array with one entry a sector.
func TestExtents(t *testing.T) {
	type cell struct {
		dirty bool
		epoch uint64
		born  time.Duration
	}
	const size = 20000
	r := rand.New(rand.NewPCG(5, 5))
	var s extents
	naive := make([]cell, size)
	for step := range 6000 {
		now := time.Duration(step)
		epoch := uint64(step / 300)
		from := r.Int64N(size - 1)
		to := min(from+1+r.Int64N(30), size)
		if r.IntN(100) == 0 {
			to = min(from+r.Int64N(size), size)
		}
		if r.IntN(3) > 0 {
			s.write(from, to, epoch, now)
			for i := from; i < to; i++ {
				if !naive[i].dirty {
					naive[i] = cell{true, epoch, now}
				}
			}
		} else {
			at := from
			s.remove(from, to, func(e extent) {
				for ; at < e.start; at++ {
					if naive[at].dirty {
						t.Fatalf("step %d: sector %d was there and not shown", step, at)
					}
				}
				for ; at < e.end; at++ {
					if !naive[at].dirty || naive[at].epoch != e.epoch {
						t.Fatalf("step %d: sector %d shown as epoch %d, is %+v", step, at, e.epoch, naive[at])
					}
				}
			})
			for i := from; i < to; i++ {
				if naive[i].dirty && i >= at {
					t.Fatalf("step %d: sector %d was there and not shown", step, i)
				}
				naive[i] = cell{}
			}
		}
		if step%50 != 0 {
			continue
		}
		// Everything, in order, with the right epoch, merged where it can be.
		var sum, upTo int64
		last := extent{end: -1}
		for p := s.find(0); s.at(p) != nil; p = s.after(p) {
			e := *s.at(p)
			if e.start < last.end || e.start >= e.end || e.start == last.end && e.epoch == last.epoch {
				t.Fatalf("step %d: %+v after %+v", step, e, last)
			}
			oldest := e.born + 1
			for i := e.start; i < e.end; i++ {
				if !naive[i].dirty || naive[i].epoch != e.epoch {
					t.Fatalf("step %d: sector %d is %+v, in the set %+v", step, i, naive[i], e)
				}
				oldest = min(oldest, naive[i].born)
			}
			if oldest < e.born {
				t.Fatalf("step %d: %+v holds a sector born at %d", step, e, oldest)
			}
			sum += e.end - e.start
			if e.epoch <= epoch/2 {
				upTo += e.end - e.start
			}
			last = e
		}
		var want int64
		for _, c := range naive {
			if c.dirty {
				want++
			}
		}
		if sum != want || s.sectors != want || s.upTo(epoch/2) != upTo {
			t.Fatalf("step %d: %d sectors listed, %d counted, want %d; up to epoch %d: %d, want %d", step, sum, s.sectors, want, epoch/2, s.upTo(epoch/2), upTo)
		}
		end := from
		for end < size && naive[end].dirty {
			end++
		}
		if got := s.run(from); got != end {
			t.Fatalf("step %d: run from %d ends at %d, want %d", step, from, got, end)
		}
	}
	if len(s.chunks) < 2 {
		t.Errorf("%d chunks: the test never splits one", len(s.chunks))
	}
}

// A cached write and its destaging cost about the same for a disk's cache and
// for a controller's.
func BenchmarkExtents(b *testing.B) {
	for name, n := range map[string]int64{"4Ki": 4 << 10, "128Ki": 128 << 10} {
		b.Run(name, func(b *testing.B) {
			var s extents
			r := rand.New(rand.NewPCG(1, 1))
			for range n {
				lba := r.Int64N(1<<30) * 16
				s.write(lba, lba+8, 0, 0)
			}
			for b.Loop() {
				lba := r.Int64N(1<<30) * 16
				s.write(lba, lba+8, 0, 0)
				e := *s.at(s.find(r.Int64N(1 << 33)))
				s.remove(e.start, e.end, nil)
			}
		})
	}
}
