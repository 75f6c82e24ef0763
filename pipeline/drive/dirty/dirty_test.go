package dirty

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The set against an array with one entry a sector.
func TestSet(t *testing.T) {
	type cell struct {
		dirty bool
		Epoch uint64
		Born  time.Duration
	}
	const size = 20000
	r := rand.New(rand.NewPCG(5, 5))
	var s Set
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
			s.Write(from, to, epoch, now)
			for i := from; i < to; i++ {
				if !naive[i].dirty {
					naive[i] = cell{true, epoch, now}
				}
			}
		} else {
			at := from
			s.Remove(from, to, func(e Extent) {
				for ; at < e.Start; at++ {
					if naive[at].dirty {
						t.Fatalf("step %d: sector %d was there and not shown", step, at)
					}
				}
				for ; at < e.End; at++ {
					if !naive[at].dirty || naive[at].Epoch != e.Epoch {
						t.Fatalf("step %d: sector %d shown as epoch %d, is %+v", step, at, e.Epoch, naive[at])
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
		last := Extent{End: -1}
		for p := s.Find(0); s.At(p) != nil; p = s.After(p) {
			e := *s.At(p)
			if e.Start < last.End || e.Start >= e.End || e.Start == last.End && e.Epoch == last.Epoch {
				t.Fatalf("step %d: %+v after %+v", step, e, last)
			}
			oldest := e.Born + 1
			for i := e.Start; i < e.End; i++ {
				if !naive[i].dirty || naive[i].Epoch != e.Epoch {
					t.Fatalf("step %d: sector %d is %+v, in the set %+v", step, i, naive[i], e)
				}
				oldest = min(oldest, naive[i].Born)
			}
			if oldest < e.Born {
				t.Fatalf("step %d: %+v holds a sector born at %d", step, e, oldest)
			}
			sum += e.End - e.Start
			if e.Epoch <= epoch/2 {
				upTo += e.End - e.Start
			}
			last = e
		}
		var want int64
		for _, c := range naive {
			if c.dirty {
				want++
			}
		}
		if sum != want || s.sectors != want || s.UpTo(epoch/2) != upTo {
			t.Fatalf("step %d: %d sectors listed, %d counted, want %d; up to epoch %d: %d, want %d", step, sum, s.sectors, want, epoch/2, s.UpTo(epoch/2), upTo)
		}
		end := from
		for end < size && naive[end].dirty {
			end++
		}
		if got := s.Run(from); got != end {
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
			var s Set
			r := rand.New(rand.NewPCG(1, 1))
			for range n {
				lba := r.Int64N(1<<30) * 16
				s.Write(lba, lba+8, 0, 0)
			}
			for b.Loop() {
				lba := r.Int64N(1<<30) * 16
				s.Write(lba, lba+8, 0, 0)
				e := *s.At(s.Find(r.Int64N(1 << 33)))
				s.Remove(e.Start, e.End, nil)
			}
		})
	}
}
