package disk

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"spindle/pipeline/drive/timing"
)

// Ruemmler and Wilkes 1994: both pieces of the HP 97560's curve give 11.07 ms at
// 383 cylinders; its mean over all pairs is 12.83 ms.
func TestHP97560Seek(t *testing.T) {
	p := hp97560()
	c := p.Seek.Read.over(p.Seek.Tracks)
	below, above := c.time(383), c.time(383.000001)
	for _, got := range []float64{below, above} {
		if math.Abs(got/1e6-11.07) > 0.01 {
			t.Errorf("seek at the knee %.4f ms, want 11.07", got/1e6)
		}
	}
	if got := seekMean(c, 1962); math.Abs(got-12.83) > 0.005 {
		t.Errorf("mean seek %.4f ms, want 12.83", got)
	}
}

// seekMean is the mean over all ordered pairs of n tracks, in ms, added up one
// distance after the other.
func seekMean(c motion, n int) float64 {
	sum := 0.0
	for d := 1; d < n; d++ {
		sum += 2 * float64(n-d) * c.time(float64(d))
	}
	return sum / float64(n) / float64(n) / 1e6
}

// The geometry of the paper comes out of its media rate and capacity.
func TestHP97560Geometry(t *testing.T) {
	g := newGeometry(hp97560())
	if g.cylinders != 1962 || g.zones[0].spt != 72 || math.Abs(g.rev/1e6-14.99) > 0.005 {
		t.Errorf("%d cylinders, %d sectors a track, revolution %.2f ms; want 1962, 72, 14.99", g.cylinders, g.zones[0].spt, g.rev/1e6)
	}
}

// A simulated run of random reads agrees with the sum over all pairs.
func TestRandomReadExpectation(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    Profile
		size int64
	}{
		{"HP 97560", hp97560(), int64(hp97560().Capacity)},
		{"two zones", quick(), int64(quick().Capacity)},
		{"first zone only", quick(), 60 << 20},
		{"a few cylinders and a part", quick(), 9500 * 512},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := tt.p
			p.ReadAhead.Segments = 0 // no hits
			s := simulate(t, p, Options{QueueDepth: 1})
			r := rand.New(rand.NewPCG(7, 7))
			n := 20000
			got := s.keep(1, n, func() (timing.Op, int64, int64) {
				return timing.Read, r.Int64N(tt.size/512 - 7), 8
			})
			want := p.RandomRead(unitSize(tt.size), 4096)
			if off := float64(got-want) / float64(want); math.Abs(off) > 0.01 {
				t.Errorf("mean of %d reads %v, expected %v: %+.2f %%", n, got, want, off*100)
			}
		})
	}
}

// A long sequential read or write gets the rate of the formula: tracks follow
// each other without losing a revolution.
func TestSequentialExpectation(t *testing.T) {
	for _, p := range []Profile{hp97560(), quick()} {
		for _, op := range []timing.Op{timing.Read, timing.Write} {
			for _, think := range []time.Duration{0, 300 * time.Microsecond} {
				s := simulate(t, p, Options{QueueDepth: 1, WriteCache: true})
				const step = 128
				var lba int64
				total := int64(60 << 20 / 512) // stays in the outer zone
				for lba < total {
					s.do(op, lba, step, false)
					lba += step
					s.now += think
				}
				if op == timing.Write {
					s.do(timing.Flush, 0, 0, false)
				}
				got := float64(total*512) / s.now.Seconds()
				if off := got/float64(p.SequentialRate()) - 1; math.Abs(off) > 0.01 {
					t.Errorf("%v rpm, op %d, think %v: %.3f MB/s, expected %.3f: %+.2f %%", p.RPM, op, think, got/1e6, float64(p.SequentialRate())/1e6, off*100)
				}
			}
		}
	}
}
