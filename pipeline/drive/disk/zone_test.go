package disk

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"spindle/pipeline/drive/timing"
)

// Each zone streams at the rate that its tracks and skews give, and zones get
// slower from the outermost to the innermost in equal steps.
func TestSequentialRateOfZones(t *testing.T) {
	p := quick()
	p.Zones, p.Heads, p.Capacity = 5, 2, 5*40*2*750*512
	g := newGeometry(p)
	var last float64
	for i, z := range g.zones {
		s := simulate(t, p, Options{QueueDepth: 1})
		lba, end := z.lba, z.lba+z.cyls*g.heads*z.spt
		end = min(end, g.sectors)
		s.do(timing.Read, lba, 8, false) // the heads are there
		from, first := s.now, lba+8
		for lba = first; lba+64 <= end; lba += 64 {
			s.do(timing.Read, lba, 64, false)
		}
		got := float64(lba-first) * 512 / (s.now - from).Seconds()
		// A track of z.spt sectors a revolution of 10 ms, and skews of 1 and 2 ms
		// in turn.
		want := float64(z.spt) * 512 / 0.0115
		if math.Abs(got/want-1) > 0.01 {
			t.Errorf("zone %d: %.3f MB/s, want %.3f", i, got/1e6, want/1e6)
		}
		if step := last - want; i > 1 && math.Abs(step/(1000*512/0.0115/8)-1) > 0.02 {
			t.Errorf("zone %d is %.3f MB/s slower than the one before, want equal steps", i, step/1e6)
		}
		last = want
	}
	if outer, inner := float64(p.SequentialRate()), float64(p.InnermostRate()); math.Abs(outer/inner-2) > 0.01 {
		t.Errorf("outermost %.3f, innermost %.3f MB/s, want twice", outer/1e6, inner/1e6)
	}
}

// A read on a random sector of the track under the head waits for half a
// revolution in the mean, and every part of one is as likely.
func TestRotationalWait(t *testing.T) {
	p := hp97560()
	p.ReadAhead.Segments = 0
	s := simulate(t, p, Options{QueueDepth: 1})
	r := rand.New(rand.NewPCG(4, 4))
	rev := p.revolution()
	sector := rev / 72
	const n = 20000
	var sum float64
	quarters := [4]int{}
	for range n {
		s.now += time.Duration(r.Int64N(int64(rev)))
		took := s.do(timing.Read, r.Int64N(72), 1, false)
		wait := float64(took) - float64(p.Overhead) - sector
		if wait < -1000 || wait > rev+1000 {
			t.Fatalf("waited %.3f ms of a revolution of %.3f", wait/1e6, rev/1e6)
		}
		sum += wait
		quarters[min(3, max(0, int(wait/rev*4)))]++
	}
	if mean := sum / n; math.Abs(mean/(rev/2)-1) > 0.01 {
		t.Errorf("mean rotational wait %.3f ms, want half a revolution, %.3f", mean/1e6, rev/2/1e6)
	}
	for i, q := range quarters {
		if q < n/4*95/100 || q > n/4*105/100 {
			t.Errorf("quarter %d of a revolution was waited for %d of %d times", i, q, n)
		}
	}
}

// Several readers that go on in turn find what was read ahead for each: reading
// ahead is by stream, not by disk.
func TestSeveralStreams(t *testing.T) {
	p := quick()
	p.ReadAhead.Segments = 4
	alone := func(streams int64) time.Duration {
		s := simulate(t, p, Options{QueueDepth: 1})
		for i := range int64(100) {
			for k := range streams {
				s.do(timing.Read, k*40000+i*8, 8, false)
			}
		}
		return s.now / time.Duration(100*streams)
	}
	// With a segment each, one visit of the media serves many reads of 8
	// sectors; with more readers than segments every read pays for a seek.
	if four, eight := alone(4), alone(8); four > ms(7).Std() || eight < 2*four {
		t.Errorf("a read takes %v among four readers and %v among eight, with four segments", four, eight)
	}
}
