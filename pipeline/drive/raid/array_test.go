package raid

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/unit"
	"spindle/pipeline/drive/timing"
)

const ms = time.Millisecond

// fixed takes a millisecond for each request, one after the other, and keeps
// what it was asked.
type fixed struct {
	name string
	free time.Duration
	done []timing.Completion
	log  *[]string
	seen []timing.Request
}

func (f *fixed) Arrive(now time.Duration, r timing.Request) {
	start := max(now, f.free)
	f.free = start + ms
	f.done = append(f.done, timing.Completion{ID: r.ID, Start: start, At: f.free})
	f.seen = append(f.seen, r)
	verb := [...]string{"read", "write", "flush", "trim"}[r.Op]
	if r.FUA {
		verb += "!"
	}
	*f.log = append(*f.log, fmt.Sprintf("%s %s %d+%d", f.name, verb, r.LBA, r.Sectors))
}

func (f *fixed) Next() (time.Duration, bool) {
	if len(f.done) == 0 {
		return 0, false
	}
	return f.done[0].At, true
}

func (f *fixed) Advance(now time.Duration) []timing.Completion {
	n := 0
	for n < len(f.done) && f.done[n].At <= now {
		n++
	}
	out := f.done[:n:n]
	f.done = f.done[n:]
	return out
}

// plain is a controller that takes no time.
var plain = Controller{Link: 1e15, Depth: 64, MemberDepth: 8}

// cached is the same with 1 MiB of cache.
var cached = Controller{Link: 1e15, Depth: 64, MemberDepth: 8, Cache: unit.MiB,
	Destage: Destage{Interval: unit.Duration(100 * ms), PerMember: 1, Window: 64}}

type simulation struct {
	t       testing.TB
	a       *Array
	members []*fixed
	log     []string
	now     time.Duration
	id      uint64
}

// simulate makes an array of n members of 1 MiB with chunks of 16 sectors.
func simulate(t testing.TB, level Level, n int, c Controller) *simulation {
	t.Helper()
	s := &simulation{t: t}
	var models []timing.Model
	for i := range n {
		m := &fixed{name: fmt.Sprint("d", i), log: &s.log}
		s.members = append(s.members, m)
		models = append(models, m)
	}
	var err error
	s.a, err = New(Config{Level: level, Unit: 8 * unit.KiB, Member: 64 * unit.MiB, Controller: c}, models)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *simulation) submit(r timing.Request) uint64 {
	s.id++
	r.ID = s.id
	s.a.Arrive(s.now, r)
	return s.id
}

func (s *simulation) do(r timing.Request) time.Duration {
	s.t.Helper()
	from := s.now
	id := s.submit(r)
	for {
		due, ok := s.a.Next()
		if !ok {
			s.t.Fatal("nothing happens any more")
		}
		s.now = max(s.now, due)
		for _, c := range s.a.Advance(s.now) {
			if c.ID == id {
				return c.At - from
			}
		}
	}
}

// What each request costs the members: the small-write costs of Patterson,
// Gibson and Katz 1988, and full stripes.
func TestCosts(t *testing.T) {
	write := func(lba, n int64) timing.Request {
		return timing.Request{Op: timing.Write, LBA: lba, Sectors: n}
	}
	read := func(lba, n int64) timing.Request { return timing.Request{Op: timing.Read, LBA: lba, Sectors: n} }
	for _, tt := range []struct {
		name    string
		level   Level
		members int
		r       timing.Request
		want    string
		took    time.Duration
	}{
		{"read of a chunk", Stripe, 4, read(16, 16), "d1 read 0+16", ms},
		{"read of two rows: one request a member", Stripe, 2, read(0, 64), "d0 read 0+32, d1 read 0+32", ms},
		{"unaligned", Stripe, 2, read(8, 16), "d0 read 8+8, d1 read 0+8", ms},
		{"mirrored write", Mirror, 2, write(100, 8), "d0 write 100+8, d1 write 100+8", ms},
		{"striped mirrors", StripeMirror, 4, write(0, 32), "d0 write 0+16, d1 write 0+16, d2 write 0+16, d3 write 0+16", ms},
		{"small write: two reads, two writes", Parity, 5, write(0, 8), "d0 read 0+8, d4 read 0+8, d0 write 0+8, d4 write 0+8", 2 * ms},
		{"a whole stripe reads nothing", Parity, 5, write(0, 64), "d0 write 0+16, d1 write 0+16, d2 write 0+16, d3 write 0+16, d4 write 0+16", ms},
		{"most of a stripe reads the rest", Parity, 5, write(0, 48), "d3 read 0+16, d0 write 0+16, d1 write 0+16, d2 write 0+16, d4 write 0+16", 2 * ms},
		{"small write of RAID 6: three and three", DoubleParity, 6, write(0, 8), "d0 read 0+8, d1 read 0+8, d5 read 0+8, d0 write 0+8, d1 write 0+8, d5 write 0+8", 2 * ms},
		{"whole stripe of RAID 6", DoubleParity, 4, write(0, 32), "d0 write 0+16, d1 write 0+16, d2 write 0+16, d3 write 0+16", ms},
		{"forced", Stripe, 2, timing.Request{Op: timing.Write, LBA: 0, Sectors: 8, FUA: true}, "d0 write! 0+8", ms},
		{"flush", Stripe, 2, timing.Request{Op: timing.Flush}, "d0 flush 0+0, d1 flush 0+0", ms},
	} {
		s := simulate(t, tt.level, tt.members, plain)
		took := s.do(tt.r)
		if got := strings.Join(s.log, ", "); got != tt.want || took != tt.took {
			t.Errorf("%s: took %v, want %v\n got %s\nwant %s", tt.name, took, tt.took, got, tt.want)
		}
	}
}

// Two writes of one row take turns, or the second would compute parity from
// what the first is about to replace; another row does not wait.
func TestRowsAreLocked(t *testing.T) {
	s := simulate(t, Parity, 5, plain)
	s.submit(timing.Request{Op: timing.Write, LBA: 0, Sectors: 8})
	s.submit(timing.Request{Op: timing.Write, LBA: 16, Sectors: 8})
	s.do(timing.Request{Op: timing.Write, LBA: 64 * 5, Sectors: 8})
	s.do(timing.Request{Op: timing.Flush})
	first := slices.Index(s.log, "d0 write 0+8")
	second := slices.Index(s.log, "d1 read 0+8")
	if first < 0 || second < first {
		t.Errorf("the second write of the row began before the first was over: %v", s.log)
	}
	if other := slices.Index(s.log, "d0 read 80+8"); other < 0 || other > first {
		t.Errorf("another row waited: %v", s.log)
	}
}

// Reads go to the mirror with less to do.
func TestMirrorsShareReads(t *testing.T) {
	s := simulate(t, Mirror, 2, plain)
	for i := range int64(8) {
		s.submit(timing.Request{Op: timing.Read, LBA: i * 1000, Sectors: 8})
	}
	s.do(timing.Request{Op: timing.Flush})
	if a, b := len(s.members[0].seen), len(s.members[1].seen); a != 5 || b != 5 {
		t.Errorf("%d and %d requests, want 4 reads and a flush each", a, b)
	}
}

func TestController(t *testing.T) {
	c := cached
	c.Read, c.Write, c.Latency, c.Link = unit.Duration(10*time.Microsecond), unit.Duration(10*time.Microsecond), unit.Duration(500*time.Microsecond), 512e6 // 1 µs a sector
	s := simulate(t, Stripe, 2, c)
	for _, tt := range []struct {
		name string
		r    timing.Request
		want time.Duration
	}{
		{"cached write", timing.Request{Op: timing.Write, LBA: 0, Sectors: 8, FUA: true}, 518 * time.Microsecond},
		{"flush is free", timing.Request{Op: timing.Flush}, 510 * time.Microsecond},
		{"read from the cache", timing.Request{Op: timing.Read, LBA: 0, Sectors: 8}, 518 * time.Microsecond},
		{"read", timing.Request{Op: timing.Read, LBA: 16, Sectors: 8}, 1518 * time.Microsecond},
	} {
		if got := s.do(tt.r); got != tt.want {
			t.Errorf("%s took %v, want %v", tt.name, got, tt.want)
		}
	}
	if len(s.members[0].seen) != 0 {
		t.Errorf("a member has %v: nothing is to be destaged yet", s.log)
	}
	s.a.Advance(time.Second)
	if len(s.members[0].seen) != 1 {
		t.Errorf("a second later a member has %v, want the write", s.log)
	}
	if v := s.a.Volatile(0, s.a.Sectors()); v != nil {
		t.Errorf("volatile: %v", v)
	}
}

// A burst goes at the controller's speed until the cache is full; then writes
// wait for the members.
func TestCacheFills(t *testing.T) {
	s := simulate(t, Stripe, 2, cached)
	r := rand.New(rand.NewPCG(1, 1))
	random := func() timing.Request {
		return timing.Request{Op: timing.Write, LBA: r.Int64N(4000) * 16, Sectors: 8}
	}
	for range 200 {
		s.do(random())
	}
	if s.now != 0 {
		t.Errorf("a burst of 200 took %v, want no time", s.now)
	}
	for range 300 {
		s.do(random())
	}
	from := s.now
	const n = 1000
	for range n {
		s.do(random())
	}
	// Two members, one write of 1 ms each at a time; rewritten chunks save some.
	if per := (s.now - from) / n; per < 400*time.Microsecond || per > 520*time.Microsecond {
		t.Errorf("a write takes %v when the cache is full, want about 500 µs", per)
	}
}

// Adjacent small writes leave as whole stripes: no member is read.
func TestDestagesWholeStripes(t *testing.T) {
	s := simulate(t, Parity, 5, cached)
	for lba := int64(0); lba < 640; lba += 8 {
		s.do(timing.Request{Op: timing.Write, LBA: lba, Sectors: 8})
	}
	s.a.Advance(time.Second)
	for _, line := range s.log {
		if strings.Contains(line, "read") {
			t.Fatalf("reads for whole stripes: %v", s.log)
		}
	}
	if len(s.log) != 50 {
		t.Errorf("%d writes, want 10 rows of 5", len(s.log))
	}
}

// Whatever arrives, everything completes, times do not depend on how often the
// array is asked, and after a flush of an array without cache every member was
// given every sector written.
func TestRandom(t *testing.T) {
	for _, level := range Levels() {
		for _, c := range []Controller{plain, cached} {
			run := func(tick time.Duration) ([]timing.Completion, *simulation) {
				s := simulate(t, level, 6, c)
				r := rand.New(rand.NewPCG(7, 7))
				var all []timing.Completion
				var now time.Duration
				for id := range uint64(2000) {
					gap := time.Duration(r.Int64N(int64(2 * ms)))
					for at := now + tick; tick > 0 && at < now+gap; at += tick {
						s.a.Next()
						all = append(all, s.a.Advance(at)...)
					}
					now += gap
					q := timing.Request{ID: id, Op: timing.Op(r.IntN(4)), LBA: r.Int64N(3000), Sectors: 1 + r.Int64N(100), FUA: r.IntN(8) == 0}
					if q.Op == timing.Flush {
						q.LBA, q.Sectors = 0, 0
					}
					s.a.Arrive(now, q)
				}
				return append(all, s.a.Advance(now+time.Hour)...), s
			}
			want, s := run(0)
			if len(want) != 2000 {
				t.Fatalf("raid %s: %d of 2000 completed", level, len(want))
			}
			for i, x := range want {
				if x.Start > x.At || i > 0 && x.At < want[i-1].At {
					t.Fatalf("raid %s: completion %d: %+v after %+v", level, i, x, want[i-1])
				}
			}
			if s.a.dirty.Sectors() != 0 || s.a.landing != 0 || len(s.a.locked) != 0 {
				t.Errorf("raid %s: dirty %d, landing %d, locked %v at the end", level, s.a.dirty.Sectors(), s.a.landing, s.a.locked)
			}
			got, _ := run(300 * time.Microsecond)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("raid %s (-want +got):\n%.1000s", level, d)
			}
		}
	}
}

// losing has caches that would lose the first sectors.
type losing struct{ fixed }

func (*losing) Volatile(from, to int64) []timing.Extent {
	return []timing.Extent{{LBA: 0, Sectors: 24}}
}

func TestVolatile(t *testing.T) {
	var log []string
	a, err := New(Config{Level: Stripe, Unit: 8 * unit.KiB, Member: unit.MiB, Controller: plain},
		[]timing.Model{&fixed{log: &log}, &losing{fixed{log: &log}}})
	if err != nil {
		t.Fatal(err)
	}
	want := []timing.Extent{{LBA: 16, Sectors: 16}, {LBA: 48, Sectors: 8}}
	if d := cmp.Diff(want, a.Volatile(0, a.Sectors())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
