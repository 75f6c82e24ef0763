package disk

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Every address has its own place, in order, and the sizes add up.
func TestLocate(t *testing.T) {
	p := quick()
	p.Zones, p.Heads = 3, 3
	g := newGeometry(p)
	last := place{cyl: -1}
	lba := int64(0)
	for _, z := range g.zones {
		if z.lba != lba {
			t.Fatalf("zone starts at %d, want %d", z.lba, lba)
		}
		lba += z.cyls * g.heads * z.spt
	}
	if lba < g.sectors || lba-g.sectors > g.heads*3*1000 {
		t.Errorf("%d sectors laid out for %d", lba, g.sectors)
	}
	for lba := range g.sectors {
		p := g.locate(lba)
		ok := p == place{last.zone, last.cyl, last.head, last.sector + 1, last.spt} && p.sector < p.spt
		if !ok && p.sector == 0 {
			next, _ := g.next(last)
			ok = lba == 0 || p == next && last.sector == last.spt-1
		}
		if !ok {
			t.Fatalf("sector %d at %+v after %+v", lba, p, last)
		}
		last = p
	}
}

// What has passed after the time of a transfer is what was transferred.
func TestPassed(t *testing.T) {
	g := newGeometry(quick())
	r := rand.New(rand.NewPCG(2, 2))
	for range 20000 {
		n := 1 + r.Int64N(5000)
		p := g.locate(r.Int64N(g.sectors - n))
		took, _ := g.transfer(p, n)
		if got := g.passed(p, math.Round(took), math.MaxInt64); got != n {
			t.Fatalf("%d sectors from %+v take %.1f ns; %d have passed then", n, p, took, got)
		}
		if got := g.passed(p, took-3000, math.MaxInt64); got >= n {
			t.Fatalf("%d sectors from %+v: %d have passed 3 µs before the end", n, p, got)
		}
		if got := g.passed(p, took*2, n); got != n {
			t.Fatalf("limit %d: %d", n, got)
		}
	}
}

// A transfer that goes on where the last one ended, at a time rounded to
// nanoseconds, loses no turn, and errors do not add up.
func TestMeetContinues(t *testing.T) {
	p := hp97560()
	p.RPM = 7200
	g := newGeometry(p)
	r := rand.New(rand.NewPCG(3, 3))
	now, exact := 0.0, 0.0
	lba := int64(0)
	for range 100000 {
		at := g.locate(lba)
		n := min(1+r.Int64N(20), at.spt-at.sector)
		begin := g.meet(now, at)
		took, _ := g.transfer(at, n)
		exact += took
		now = math.Round(begin + took)
		if math.Abs(now-exact) > 2 {
			t.Fatalf("sector %d passed at %.0f ns, want %.1f", lba+n, now, exact)
		}
		if lba += n; at.sector+n == at.spt {
			lba -= at.spt // round and round the same track
		}
	}
}
