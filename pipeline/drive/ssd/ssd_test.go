package ssd

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/unit"
	"spindle/pipeline/drive/timing"
)

func us(v float64) unit.Duration { return unit.Duration(v * float64(time.Microsecond)) }

// round is a drive of round numbers: 10 µs a command, 100 µs a page of 4 KiB on
// four channels, 4.096 µs a page on the link, SLC of 1 MiB at 400 kB/ms, then a
// tenth of that.
func round() Profile {
	return Profile{
		Capacity: 1 << 30, Link: 1e9, Read: us(10), Write: us(20),
		Flash:  Flash{Channels: 4, Page: 4096, Read: us(100), Program: us(200), SLC: 1 << 20, SLCRate: 400e6, Sustained: 40e6},
		Buffer: Buffer{Size: 64 << 10},
		Queue:  Queue{Depth: 32},
	}
}

type simulation struct {
	t   testing.TB
	s   *SSD
	now time.Duration
	id  uint64
}

func simulate(t testing.TB, p Profile, o Options) *simulation {
	t.Helper()
	s, err := New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return &simulation{t: t, s: s}
}

func (m *simulation) submit(op timing.Op, lba, sectors int64, fua bool) uint64 {
	m.id++
	m.s.Arrive(m.now, timing.Request{ID: m.id, Op: op, LBA: lba, Sectors: sectors, FUA: fua})
	return m.id
}

func (m *simulation) wait() []timing.Completion {
	m.t.Helper()
	due, ok := m.s.Next()
	if !ok {
		m.t.Fatal("nothing happens any more")
	}
	m.now = max(m.now, due)
	return m.s.Advance(m.now)
}

func (m *simulation) do(op timing.Op, lba, sectors int64, fua bool) time.Duration {
	m.t.Helper()
	from := m.now
	id := m.submit(op, lba, sectors, fua)
	for {
		for _, c := range m.wait() {
			if c.ID == id {
				return c.At - from
			}
		}
	}
}

// keep holds depth requests in the drive until n are complete, and gives how
// many there were per second.
func (m *simulation) keep(depth, n int, next func() (op timing.Op, lba, sectors int64)) float64 {
	m.t.Helper()
	from := m.now
	add := func() { op, lba, sectors := next(); m.submit(op, lba, sectors, false) }
	for range depth {
		add()
	}
	for done := 0; done < n; {
		for range m.wait() {
			done++
			add()
		}
	}
	return float64(n) / (m.now - from).Seconds()
}

func near(got time.Duration, want unit.Duration) bool {
	return max(got-want.Std(), want.Std()-got) <= 20
}

// One request to an idle drive; the times follow from its round numbers.
func TestOneRequest(t *testing.T) {
	for _, tt := range []struct {
		name   string
		o      Options
		op     timing.Op
		lba, n int64
		fua    bool
		want   float64 // µs
		why    string
	}{
		{"read of a page", Options{}, timing.Read, 0, 8, false, 114.096, "10 command, 100 page, 4.096 link"},
		{"read of a part", Options{}, timing.Read, 4, 2, false, 111.024, "1 KiB on the link"},
		{"over a page's end", Options{}, timing.Read, 4, 8, false, 114.096, "two channels, two halves on the link"},
		{"four channels", Options{}, timing.Read, 0, 32, false, 126.384, "all four at once, then four pages on the link"},
		{"two rounds", Options{}, timing.Read, 0, 64, false, 226.384, "the first four pages cross during the second round"},
		{"cached write", Options{WriteCache: true}, timing.Write, 0, 8, false, 24.096, "20 command, 4.096 link"},
		{"written through", Options{}, timing.Write, 0, 8, false, 234.336, "24.096, 10.24 at 400 MB/s, and a program"},
		{"forced", Options{WriteCache: true}, timing.Write, 0, 8, true, 234.336, ""},
		{"larger than the buffer", Options{WriteCache: true}, timing.Write, 0, 256, false, 20 + 131.072 + 163.84, "64 of 128 KiB must be programmed first, at 400 MB/s"},
		{"flush of nothing", Options{WriteCache: true}, timing.Flush, 0, 0, false, 20, ""},
		{"trim", Options{}, timing.Trim, 0, 100000, false, 20, ""},
	} {
		m := simulate(t, round(), tt.o)
		if got := m.do(tt.op, tt.lba, tt.n, tt.fua); !near(got, us(tt.want)) {
			t.Errorf("%s: took %v, want %.3f µs (%s)", tt.name, got, tt.want, tt.why)
		}
		if tt.op == timing.Read && tt.lba == 0 {
			if got := round().RandomRead(unit.Size(tt.n * 512)); !near(got, us(tt.want)) {
				t.Errorf("%s: expected %v, want %.3f µs", tt.name, got, tt.want)
			}
		}
	}
}

func TestBuffer(t *testing.T) {
	m := simulate(t, round(), Options{WriteCache: true})
	m.do(timing.Write, 0, 8, false)
	if v := m.s.Volatile(0, m.s.Sectors()); !cmp.Equal(v, []timing.Extent{{LBA: 0, Sectors: 8}}) {
		t.Errorf("volatile %v, want the write", v)
	}
	if got := m.do(timing.Flush, 0, 0, false); !near(got, us(210.24)) {
		t.Errorf("flush took %v, want 210.24 µs: 10.24 at the SLC's rate and a program", got)
	}
	if v := m.s.Volatile(0, m.s.Sectors()); v != nil {
		t.Errorf("volatile after a flush: %v", v)
	}
	m.do(timing.Write, 0, 64, false)
	if got := m.do(timing.Read, 8, 8, false); !near(got, us(14.096)) {
		t.Errorf("a read from the buffer took %v, want 14.096 µs", got)
	}
	p := round()
	p.Buffer.Protected = true
	m = simulate(t, p, Options{WriteCache: true})
	for _, fua := range []bool{false, true} {
		if got := m.do(timing.Write, 0, 8, fua); !near(got, us(24.096)) {
			t.Errorf("protected write took %v, want 24.096 µs", got)
		}
		if got := m.do(timing.Flush, 0, 0, false); !near(got, us(20)) || m.s.Volatile(0, 100) != nil {
			t.Errorf("flush of a protected buffer took %v, want 20 µs", got)
		}
	}
}

// A read beside a stream of writes waits for half a program in the mean.
func TestReadWaitsForProgram(t *testing.T) {
	p := round()
	p.Flash.SLC = 0
	p.Flash.SLCRate = 0
	p.Buffer.Size = 64 << 20
	m := simulate(t, p, Options{WriteCache: true})
	m.do(timing.Write, 100000, 100000, false) // 51 MB at 40 MB/s: busy for a second
	r := rand.New(rand.NewPCG(1, 1))
	var sum time.Duration
	const n = 1000
	for range n {
		sum += m.do(timing.Read, r.Int64N(10000)*8, 8, false)
	}
	if mean := sum / n; mean < us(208).Std() || mean > us(220).Std() {
		t.Errorf("a read takes %v beside programs, want 114.096 and a half of 200 µs", mean)
	}
}

// The SLC gives way to the sustained rate, and comes back when idle.
func TestSLC(t *testing.T) {
	m := simulate(t, round(), Options{WriteCache: true})
	write := func(bytes int64) float64 {
		from := m.now
		for done := int64(0); done < bytes; done += 32 << 10 {
			m.do(timing.Write, done/512, 64, false)
		}
		m.do(timing.Flush, 0, 0, false)
		return float64(bytes) / (m.now - from).Seconds()
	}
	if rate := write(1 << 20); rate < 350e6 || rate > 400e6 {
		t.Errorf("the first MiB at %.1f MB/s, want about 400", rate/1e6)
	}
	if rate := write(16 << 20); rate < 39e6 || rate > 42e6 {
		t.Errorf("the next 16 MiB at %.1f MB/s, want 40", rate/1e6)
	}
	m.now += time.Second
	if rate := write(1 << 20); rate < 350e6 || rate > 400e6 {
		t.Errorf("after a pause a MiB at %.1f MB/s, want about 400", rate/1e6)
	}
}

// The controller bounds operations per second, the link bytes.
func TestBounds(t *testing.T) {
	p := round()
	p.Flash.Channels = 64
	r := rand.New(rand.NewPCG(2, 2))
	m := simulate(t, p, Options{})
	if got := m.keep(32, 20000, func() (timing.Op, int64, int64) { return timing.Read, r.Int64N(200000) * 8, 8 }); got < 95e3 || got > 100.1e3 {
		t.Errorf("%.0f random reads a second, want nearly 100000: 10 µs each", got)
	}
	m = simulate(t, p, Options{})
	lba := int64(-256)
	got := m.keep(4, 2000, func() (timing.Op, int64, int64) { lba += 256; return timing.Read, lba, 256 }) * 256 * 512
	if want := float64(p.SequentialRate()); got < want*0.98 || got > want*1.001 {
		t.Errorf("sequential reads at %.1f MB/s, expected %.1f", got/1e6, want/1e6)
	}
}

// Times do not depend on how often the model is asked, and every request
// completes once.
func TestDeterminism(t *testing.T) {
	run := func(seed uint64, tick time.Duration) []timing.Completion {
		s, err := New(round(), Options{WriteCache: true, QueueDepth: 8, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 1))
		var all []timing.Completion
		var now time.Duration
		for id := range uint64(5000) {
			gap := time.Duration(r.Int64N(int64(300 * time.Microsecond)))
			for at := now + tick; tick > 0 && at < now+gap; at += tick {
				s.Next()
				all = append(all, s.Advance(at)...)
			}
			now += gap
			q := timing.Request{ID: id, Op: timing.Op(r.IntN(4)), LBA: r.Int64N(10000), Sectors: 1 + r.Int64N(100), FUA: r.IntN(8) == 0}
			if q.Op == timing.Flush {
				q.LBA, q.Sectors = 0, 0
			}
			s.Arrive(now, q)
		}
		return append(all, s.Advance(now+time.Hour)...)
	}
	want := run(1, 0)
	seen := map[uint64]bool{}
	for i, c := range want {
		if seen[c.ID] || c.Start > c.At || i > 0 && c.At < want[i-1].At {
			t.Fatalf("completion %d: %+v", i, c)
		}
		seen[c.ID] = true
	}
	if len(want) != 5000 {
		t.Fatalf("%d of 5000 requests completed", len(want))
	}
	for _, tick := range []time.Duration{10 * time.Microsecond, 90 * time.Microsecond} {
		if d := cmp.Diff(want, run(1, tick)); d != "" {
			t.Fatalf("asked every %v (-want +got):\n%.2000s", tick, d)
		}
	}
	if cmp.Equal(want, run(2, 0)) {
		t.Error("another seed gives the same times")
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		want  string
		spoil func(*Profile)
	}{
		{"capacity", func(p *Profile) { p.Capacity = 100 }},
		{"link", func(p *Profile) { p.Link = 0 }},
		{"read", func(p *Profile) { p.Read = 0 }},
		{"write", func(p *Profile) { p.Write = us(2e6) }},
		{"flash.channels", func(p *Profile) { p.Flash.Channels = 0 }},
		{"flash.page", func(p *Profile) { p.Flash.Page = 100 }},
		{"flash.read", func(p *Profile) { p.Flash.Read = 0 }},
		{"flash.program", func(p *Profile) { p.Flash.Program = 0 }},
		{"flash.sustained", func(p *Profile) { p.Flash.Sustained = 0 }},
		{"flash.slc-rate", func(p *Profile) { p.Flash.SLCRate = 1 }},
		{"buffer.size", func(p *Profile) { p.Buffer.Size = 0 }},
		{"queue.depth", func(p *Profile) { p.Queue.Depth = 0 }},
	} {
		p := round()
		tt.spoil(&p)
		if err := p.Validate(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("Validate = %v, want an error about %s", err, tt.want)
		}
	}
	scaled, err := round().Rescale(50e6)
	if err != nil || scaled.SequentialRate() != 50e6 {
		t.Errorf("rescaled to %v, %v", scaled.SequentialRate(), err)
	}
	if _, err := round().Rescale(50e9); err == nil {
		t.Error("a drive faster than its flash was made")
	}
}
