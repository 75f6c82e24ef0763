package disk

import (
	"testing"
	"time"

	"spindle/pipeline/drive/timing"
)

// simulation drives a disk by a virtual clock.
type simulation struct {
	t       testing.TB
	d       *Disk
	now     time.Duration
	id      uint64
	arrived map[uint64]time.Duration
}

func simulate(t testing.TB, p Profile, o Options) *simulation {
	t.Helper()
	d, err := New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return &simulation{t: t, d: d, arrived: map[uint64]time.Duration{}}
}

// submit lets a request arrive now.
func (s *simulation) submit(op timing.Op, lba, sectors int64, fua bool) uint64 {
	s.id++
	s.arrived[s.id] = s.now
	s.d.Arrive(s.now, timing.Request{ID: s.id, Op: op, LBA: lba, Sectors: sectors, FUA: fua})
	return s.id
}

// wait runs until something completes.
func (s *simulation) wait() []timing.Completion {
	s.t.Helper()
	for {
		due, ok := s.d.Next()
		if !ok {
			s.t.Fatalf("nothing happens any more after %v, with requests waiting", s.now)
		}
		s.now = max(s.now, due)
		out := s.d.Advance(s.now)
		for _, c := range out {
			if c.At > s.now || c.Start > c.At || c.Start < s.arrived[c.ID] {
				s.t.Fatalf("at %v: request of %v started %v, done %v", s.now, s.arrived[c.ID], c.Start, c.At)
			}
			delete(s.arrived, c.ID)
		}
		if len(out) > 0 {
			return out
		}
	}
}

// do is one request from arrival to completion, alone.
func (s *simulation) do(op timing.Op, lba, sectors int64, fua bool) time.Duration {
	s.t.Helper()
	from := s.now
	id := s.submit(op, lba, sectors, fua)
	for {
		for _, c := range s.wait() {
			if c.ID == id {
				return c.At - from
			}
		}
	}
}

// idle lets time pass.
func (s *simulation) idle(d time.Duration) {
	s.t.Helper()
	s.now += d
	if out := s.d.Advance(s.now); len(out) > 0 {
		s.t.Fatalf("%d requests completed in an idle time", len(out))
	}
}

// keep holds depth requests made by next in the disk until n are complete, and
// gives the mean time of one.
func (s *simulation) keep(depth, n int, next func() (op timing.Op, lba, sectors int64)) time.Duration {
	s.t.Helper()
	var sum time.Duration
	at := map[uint64]time.Duration{}
	add := func() {
		op, lba, sectors := next()
		at[s.submit(op, lba, sectors, false)] = s.now
	}
	for range depth {
		add()
	}
	for done := 0; done < n; {
		for _, c := range s.wait() {
			sum += c.At - at[c.ID]
			delete(at, c.ID)
			done++
			add()
		}
	}
	return sum / time.Duration(n)
}

// hp97560 is the disk of Ruemmler and Wilkes 1994: 1962 cylinders, 19 heads,
// 72 sectors a track, 4002 rpm, 2.2 ms controller overhead, 1.6 ms head switch.
// Only the skews are not from there; they cover the switches.
func hp97560() Profile {
	curve := Curve{A: 3.24, B: 0.400, C: 8.00, E: 0.008, Knee: 383}
	rate := unitRate(72 * 512 * 4002 / 60.)
	return Profile{
		Capacity: 1962 * 19 * 72 * 512, RPM: 4002, Heads: 19, Zones: 1,
		OuterRate: rate, InnerRate: rate,
		HeadSwitch: ms(1.6), HeadSkew: ms(1.7), CylinderSkew: ms(3.8),
		Seek:       Seek{Tracks: 1962, Read: curve, Write: curve},
		Overhead:   ms(2.2),
		Link:       10e6,
		ReadAhead:  ReadAhead{Segments: 1, Segment: 128 << 10},
		WriteCache: WriteCache{Size: 128 << 10, Window: 32, AgeLimit: ms(30e3), Linger: ms(10)},
		Queue:      Queue{Depth: 32, AgeLimit: ms(1000)},
	}
}

// quick is a small round-numbered disk: a revolution takes 10 ms, a track holds
// 1000 sectors in the outer and 500 in the inner of two zones, a seek 2 ms
// whatever the distance. No jitter, so times can be worked out by hand.
func quick() Profile {
	curve := Curve{A: 2, C: 2, Knee: 1}
	return Profile{
		Capacity: 2 * 100 * 750 * 2 * 512, RPM: 6000, Heads: 2, Zones: 2,
		OuterRate: 1000 * 512 * 100, InnerRate: 500 * 512 * 100,
		HeadSwitch: ms(1), HeadSkew: ms(1), CylinderSkew: ms(2),
		Seek:       Seek{Tracks: 200, Read: curve, Write: curve},
		Overhead:   ms(0.1),
		Link:       512e6, // 1 µs a sector
		ReadAhead:  ReadAhead{Segments: 2, Segment: 500 * 512},
		WriteCache: WriteCache{Size: 2000 * 512, Window: 8, AgeLimit: ms(30e3), Linger: ms(5)},
		Queue:      Queue{Depth: 32, AgeLimit: ms(1000)},
	}
}
