package disk

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spindle/pipeline/drive/timing"
)

// One request to a fresh quick disk; the times follow from its round numbers.
func TestOneRequest(t *testing.T) {
	inner := int64(100 * 2 * 1000) // first sector of the inner zone, cylinder 100
	for _, tt := range []struct {
		name    string
		o       Options
		op      timing.Op
		lba, n  int64
		fua     bool
		wantMS  float64
		comment string
	}{
		{"just missed", Options{}, timing.Read, 0, 8, false, 10.08, "0.1 command, a turn less 0.1, 8 of 1000 sectors"},
		{"half a turn", Options{}, timing.Read, 500, 8, false, 5.08, ""},
		{"other head, skew too short for the command", Options{}, timing.Read, 1000, 8, false, 11.08, "settled at 1.1, the track starts at 1.0"},
		{"next cylinder", Options{}, timing.Read, 2000, 8, false, 3.08, "settled at 2.1, angle 0.1+0.2"},
		{"inner zone", Options{}, timing.Read, inner + 250, 8, false, 5.16, "angle 100*0.3+0.5, 500 sectors a track"},
		{"over the end of a track", Options{}, timing.Read, 996, 8, false, 11.04, "4 sectors to 10.0, 1 skew, 4 sectors"},
		{"over the end of a cylinder", Options{}, timing.Read, 1996, 8, false, 13.04, "head 1 ends at 1.1 turns, 2 skew"},
		{"zone boundary", Options{}, timing.Read, inner - 4, 8, false, 10.08, "angle 99*0.3+0.1+0.996, so 7.96; 4 sectors, 2 skew, 4 inner sectors"},
		{"written through", Options{}, timing.Write, 500, 8, false, 5.08, ""},
		{"cached", Options{WriteCache: true}, timing.Write, 500, 8, false, 0.108, "0.1 command, 8 sectors at 1 µs"},
		{"forced", Options{WriteCache: true}, timing.Write, 500, 8, true, 5.08, ""},
		{"flush of nothing", Options{WriteCache: true}, timing.Flush, 0, 0, false, 0.1, ""},
		{"trim", Options{WriteCache: true}, timing.Trim, 0, 100000, false, 0.1, ""},
		{"larger than the cache", Options{WriteCache: true}, timing.Write, 0, 3000, false, 20, "2000 fit; the first track is out after a turn and a turn"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := simulate(t, quick(), tt.o)
			got := s.do(tt.op, tt.lba, tt.n, tt.fua)
			if want := ms(tt.wantMS).Std(); !near(got, want) {
				t.Errorf("took %v, want %v (%s)", got, want, tt.comment)
			}
		})
	}
}

func TestReadAhead(t *testing.T) {
	s := simulate(t, quick(), Options{QueueDepth: 1})
	s.do(timing.Read, 0, 8, false) // ends at 10.08
	hit := s.do(timing.Read, 8, 8, false)
	if want := ms(0.108).Std(); !near(hit, want) {
		t.Errorf("next read took %v, want a hit of %v", hit, want)
	}
	// At 10.188 the heads are at sector 18.8; sector 99 ends at 11.0.
	if wait := s.do(timing.Read, 92, 8, false); !near(s.now, ms(11).Std()) {
		t.Errorf("a read just ahead took %v and ended at %v, want 11 ms: it waits for the heads", wait, s.now)
	}
	// The segment of 500 sectors fills and stays.
	s.idle(100 * time.Millisecond)
	if hit := s.do(timing.Read, 100, 400, false); !near(hit, ms(0.5).Std()) {
		t.Errorf("read of 400 sectors took %v, want a hit of 0.5 ms", hit)
	}
	// Elsewhere, and back: still a hit, from a segment.
	s.do(timing.Read, 20000, 8, false)
	if hit := s.do(timing.Read, 550, 8, false); !near(hit, ms(0.108).Std()) {
		t.Errorf("read from an older segment took %v, want a hit", hit)
	}
	// A write into it spoils it.
	s.do(timing.Write, 552, 8, false)
	if miss := s.do(timing.Read, 552, 8, false); miss < ms(1).Std() {
		t.Errorf("read of what was written through took %v, want the media", miss)
	}
}

func TestQueueing(t *testing.T) {
	order := func(o Options) (ids []uint64, end time.Duration) {
		s := simulate(t, quick(), o)
		s.submit(timing.Read, 900, 8, false)
		s.submit(timing.Read, 200, 8, false)
		for len(ids) < 2 {
			for _, c := range s.wait() {
				ids = append(ids, c.ID)
			}
		}
		return ids, s.now
	}
	ids, end := order(Options{QueueDepth: 32})
	if d := cmp.Diff([]uint64{2, 1}, ids); d != "" || !near(end, ms(9.08).Std()) {
		t.Errorf("reordering: ended at %v, want 9.08 ms; order (-want +got):\n%s", end, d)
	}
	ids, end = order(Options{QueueDepth: 1})
	if d := cmp.Diff([]uint64{1, 2}, ids); d != "" || !near(end, ms(12.08).Std()) {
		t.Errorf("one at a time: ended at %v, want 12.08 ms; order (-want +got):\n%s", end, d)
	}
}

// Nearby requests without end do not starve a distant one.
func TestQueueAge(t *testing.T) {
	p := quick()
	p.ReadAhead.Segments = 0
	p.Seek.Read = Curve{A: 1, C: 0.6, E: 0.02, Knee: 20}
	p.Seek.Write = p.Seek.Read
	p.CylinderSkew = ms(2)
	far := int64(2 * 100 * 1000)
	s := simulate(t, p, Options{})
	r := rand.New(rand.NewPCG(3, 3))
	for range 24 {
		s.submit(timing.Read, r.Int64N(2000/8)*8, 8, false)
	}
	id := s.submit(timing.Read, far, 8, false)
	for {
		for _, c := range s.wait() {
			if c.ID == id {
				if limit := p.Queue.AgeLimit.Std() + ms(40).Std(); c.At > limit {
					t.Errorf("waited %v, want at most %v", c.At, limit)
				}
				return
			}
			s.submit(timing.Read, r.Int64N(2000/8)*8, 8, false)
		}
		if s.now > 10*time.Second {
			t.Fatal("starves")
		}
	}
}

func TestFlush(t *testing.T) {
	t.Run("waits for what is dirty", func(t *testing.T) {
		s := simulate(t, quick(), Options{WriteCache: true})
		s.do(timing.Write, 500, 8, false) // destaging starts at once
		s.do(timing.Flush, 0, 0, false)
		if !near(s.now, ms(5.08).Std()) {
			t.Errorf("flush done at %v, want 5.08 ms", s.now)
		}
	})
	t.Run("not for what comes later", func(t *testing.T) {
		s := simulate(t, quick(), Options{WriteCache: true})
		s.do(timing.Write, 500, 8, false)
		flush := s.submit(timing.Flush, 0, 0, false)
		s.idle(time.Millisecond)
		var ids []uint64
		for range 5 {
			ids = append(ids, s.submit(timing.Write, 700, 8, false))
		}
		for {
			for _, c := range s.wait() {
				if c.ID != flush {
					continue
				}
				if !near(c.At, ms(5.08).Std()) {
					t.Errorf("flush done at %v, want 5.08 ms, with writes %v behind it", c.At, ids)
				}
				return
			}
		}
	})
	t.Run("trimmed data is not waited for", func(t *testing.T) {
		s := simulate(t, quick(), Options{WriteCache: true})
		s.do(timing.Write, 500, 8, false)
		s.do(timing.Write, 40000, 8, false)
		s.do(timing.Trim, 40000, 8, false)
		s.do(timing.Flush, 0, 0, false)
		if !near(s.now, ms(5.08).Std()) {
			t.Errorf("flush done at %v, want 5.08 ms", s.now)
		}
	})
	t.Run("nothing to do when written through", func(t *testing.T) {
		s := simulate(t, quick(), Options{})
		s.do(timing.Write, 500, 8, false)
		if took := s.do(timing.Flush, 0, 0, false); !near(took, ms(0.1).Std()) {
			t.Errorf("flush took %v", took)
		}
	})
}

func TestWriteCache(t *testing.T) {
	t.Run("reads what was written", func(t *testing.T) {
		s := simulate(t, quick(), Options{WriteCache: true})
		s.do(timing.Write, 500, 8, false)
		s.do(timing.Write, 508, 8, false)
		if hit := s.do(timing.Read, 504, 8, false); !near(hit, ms(0.108).Std()) {
			t.Errorf("read took %v, want a hit", hit)
		}
	})
	t.Run("adjacent blocks go out together", func(t *testing.T) {
		s := simulate(t, quick(), Options{WriteCache: true})
		s.do(timing.Write, 0, 8, false) // destaging this keeps the arm until 10.08
		for i := range int64(50) {
			s.do(timing.Write, 500+(i*7%50)*8, 8, false)
		}
		s.do(timing.Flush, 0, 0, false)
		// Sectors 500 to 899 in the turn after that of sector 0.
		if !near(s.now, ms(19).Std()) {
			t.Errorf("50 adjacent blocks were on the media at %v, want 19 ms", s.now)
		}
	})
	t.Run("full, so at the speed of the media", func(t *testing.T) {
		s := simulate(t, quick(), Options{WriteCache: true, QueueDepth: 1})
		r := rand.New(rand.NewPCG(9, 9))
		next := func() (timing.Op, int64, int64) { return timing.Write, r.Int64N(30000) * 8, 8 }
		s.keep(1, 250, next) // 2000 sectors fill it
		first := s.now
		s.keep(1, 1000, next)
		if mean := (s.now - first) / 1000; mean < ms(2).Std() {
			t.Errorf("a write takes %v in the mean; a seek alone takes 2 ms", mean)
		}
	})
	t.Run("a reader and a full cache share the arm", func(t *testing.T) {
		s := simulate(t, quick(), Options{WriteCache: true})
		r := rand.New(rand.NewPCG(9, 9))
		for range 20 {
			s.submit(timing.Write, r.Int64N(200)*1000, 500, false)
		}
		for range 10 {
			if took := s.do(timing.Read, r.Int64N(30000)*8, 8, false); took > ms(60).Std() {
				t.Errorf("a read took %v behind writes", took)
			}
		}
	})
}

// Reads that never pause do not keep a full cache from emptying.
func TestReadersDoNotStarveWrites(t *testing.T) {
	s := simulate(t, quick(), Options{WriteCache: true})
	r := rand.New(rand.NewPCG(9, 9))
	s.do(timing.Write, 100000, 2000, false) // fills the cache
	write := s.submit(timing.Write, 150000, 2000, false)
	for range 4 {
		s.submit(timing.Read, r.Int64N(30000)*8, 8, false)
	}
	for s.now < time.Second {
		for _, c := range s.wait() {
			if c.ID == write {
				if c.At > ms(100).Std() {
					t.Errorf("a write waited %v for room", c.At)
				}
				return
			}
			s.submit(timing.Read, r.Int64N(30000)*8, 8, false)
		}
	}
	t.Error("a write waits for ever")
}

// The arm lingers where it read before it destages unasked.
func TestLinger(t *testing.T) {
	p := quick()
	p.WriteCache.Linger = ms(30)
	s := simulate(t, p, Options{WriteCache: true})
	s.do(timing.Read, 0, 8, false) // until 10.08; the segment is full at 15.08
	s.do(timing.Write, 100000, 8, false)
	s.idle(10 * time.Millisecond)
	s.do(timing.Trim, 40000, 8, false) // an occasion, if it took one
	s.idle(15 * time.Millisecond)
	if n := s.d.Dirty(); n != 8 {
		t.Errorf("after 25 ms %d sectors are dirty, want 8", n)
	}
	s.idle(30 * time.Millisecond)
	if n := s.d.Dirty(); n != 0 {
		t.Errorf("after 55 ms %d sectors are dirty, want none", n)
	}
}

// Times do not depend on how often the model is asked.
func TestDeterminism(t *testing.T) {
	p := quick()
	p.Seek.Jitter = ms(0.5)
	p.CylinderSkew = ms(2.5)
	run := func(seed uint64, tick time.Duration) []timing.Completion {
		d, err := New(p, Options{WriteCache: true, QueueDepth: 8, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 1))
		var all []timing.Completion
		var now time.Duration
		for id := range uint64(3000) {
			gap := time.Duration(r.Int64N(int64(8 * time.Millisecond)))
			for at := now + tick; tick > 0 && at < now+gap; at += tick {
				d.Next()
				all = append(all, d.Advance(at)...)
			}
			now += gap
			d.Arrive(now, arbitrary(r, id, d.Sectors()))
		}
		return append(all, d.Advance(now+time.Hour)...)
	}
	want := run(1, 0)
	if len(want) != 3000 {
		t.Fatalf("%d of 3000 requests completed", len(want))
	}
	for _, tick := range []time.Duration{0, 100 * time.Microsecond, 3 * time.Millisecond} {
		if d := cmp.Diff(want, run(1, tick)); d != "" {
			t.Fatalf("asked every %v (-want +got):\n%.2000s", tick, d)
		}
	}
	if cmp.Equal(want, run(2, 0)) {
		t.Error("another seed gives the same times: no jitter")
	}
}

// arbitrary makes a request of any kind, often near the start of the disk.
func arbitrary(r *rand.Rand, id uint64, sectors int64) timing.Request {
	q := timing.Request{ID: id, Op: timing.Op(r.IntN(4)), Sectors: 1 + r.Int64N(300), FUA: r.IntN(8) == 0}
	q.LBA = r.Int64N(sectors - q.Sectors)
	if r.IntN(2) == 0 {
		q.LBA = r.Int64N(3000)
	}
	switch q.Op {
	case timing.Flush:
		q.LBA, q.Sectors, q.FUA = 0, 0, false
		if r.IntN(4) > 0 {
			q.Op, q.Sectors = timing.Write, 8
		}
	case timing.Trim, timing.Read:
		q.FUA = false
	}
	return q
}

func TestRescale(t *testing.T) {
	p := hp97560()
	for _, rate := range []float64{0.5e6, 1e6, 4e6} {
		scaled, err := p.Rescale(unitRate(rate))
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(scaled.SequentialRate()); got < rate*0.97 || got > rate*1.03 {
			t.Errorf("rescaled to %.4g B/s, want %.4g", got, rate)
		}
		// Only the sector itself takes another time than before.
		was, is := positioning(p), positioning(scaled)
		if diff := max(was-is, is-was); diff > ms(0.1).Std() {
			t.Errorf("at %.4g B/s a random sector is found after %v, before %v", rate, is, was)
		}
	}
	if _, err := p.Rescale(unitRate(1)); err == nil {
		t.Error("a disk of one byte a second was made")
	}
}

// positioning is the mean time to a random sector.
func positioning(p Profile) time.Duration {
	sector := p.revolution() / float64(p.sectorsPerTrack(p.OuterRate))
	return p.RandomRead(p.Capacity, 512) - time.Duration(sector)
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		want  string // in the error
		spoil func(*Profile)
	}{
		{"capacity", func(p *Profile) { p.Capacity = 100 }},
		{"rpm", func(p *Profile) { p.RPM = 0 }},
		{"heads", func(p *Profile) { p.Heads = 0 }},
		{"zones", func(p *Profile) { p.Zones = 1000 }},
		{"inner-rate", func(p *Profile) { p.InnerRate = p.OuterRate + 1 }},
		{"track would hold", func(p *Profile) { p.InnerRate = 1 }},
		{"cylinders", func(p *Profile) { p.Capacity <<= 30 }},
		{"seek.tracks", func(p *Profile) { p.Seek.Tracks = 0 }},
		{"seek.read", func(p *Profile) { p.Seek.Read = Curve{} }},
		{"seek.write", func(p *Profile) { p.Seek.Write = Curve{A: 1, C: 9, Knee: 50} }},
		{"head-skew", func(p *Profile) { p.HeadSkew = ms(0.5) }},
		{"cylinder-skew", func(p *Profile) { p.Seek.Jitter = ms(3) }},
		{"link", func(p *Profile) { p.Link = 0 }},
		{"read-ahead.segment", func(p *Profile) { p.ReadAhead.Segment = 1 }},
		{"write-cache", func(p *Profile) { p.WriteCache.Window = 0 }},
		{"queue.depth", func(p *Profile) { p.Queue.Depth = 0 }},
		{"queue.age-limit", func(p *Profile) { p.Queue.AgeLimit = 0 }},
	} {
		p := quick()
		tt.spoil(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Validate = %v, want an error about %s", err, tt.want)
		}
	}
	if err := quick().Validate(); err != nil {
		t.Error(err)
	}
	if _, err := New(quick(), Options{QueueDepth: 33}); err == nil {
		t.Error("a queue deeper than the disk's was made")
	}
}
