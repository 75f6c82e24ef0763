package drive

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"spindle/internal/unit"
	"spindle/pipeline/drive/timing"
)

// closedLoop keeps depth requests in a model and gives the mean time of one,
// and how many were done per second, in virtual time.
func closedLoop(t testing.TB, s Spec, depth, n int, next func() timing.Request) (mean time.Duration, perSecond float64) {
	t.Helper()
	m, err := s.Model(1)
	if err != nil {
		t.Fatal(err)
	}
	var now, sum time.Duration
	arrived := map[uint64]time.Duration{}
	var id uint64
	add := func() {
		id++
		r := next()
		r.ID = id
		arrived[id] = now
		m.Arrive(now, r)
	}
	for range depth {
		add()
	}
	for done := 0; done < n; {
		due, ok := m.Next()
		if !ok {
			t.Fatal("model stands still")
		}
		now = max(now, due)
		for _, c := range m.Advance(now) {
			sum += c.At - arrived[c.ID]
			delete(arrived, c.ID)
			done++
			add()
		}
	}
	return sum / time.Duration(n), float64(n) / now.Seconds()
}

// randomly makes requests of sectors at random places of the first size bytes.
func randomly(op timing.Op, size, sectors int64, fua bool) func() timing.Request {
	r := rand.New(rand.NewPCG(42, 42))
	return func() timing.Request {
		return timing.Request{Op: op, LBA: r.Int64N((size/512-sectors)/8) * 8, Sectors: sectors, FUA: fua}
	}
}

func sequentially(op timing.Op, sectors int64) func() timing.Request {
	lba := -sectors
	return func() timing.Request {
		lba += sectors
		return timing.Request{Op: op, LBA: lba, Sectors: sectors}
	}
}

func within(t *testing.T, what string, got, low, high float64) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s = %.4g, want %.4g to %.4g", what, got, low, high)
	}
}

// A 7200 rpm disk does 78 random reads of 4 KiB a second, 12.7 ms each; command
// queueing gives about 2.2 times as many.
func TestSATA7200Random(t *testing.T) {
	one := Spec{Profile: "sata-7200", QueueDepth: 1}
	size := int64(500e9)
	mean, iops := closedLoop(t, one, 1, 10000, randomly(timing.Read, size, 8, false))
	t.Logf("QD1 %v %.1f IOPS; expected %v", mean, iops, one.RandomReadMean4K())
	within(t, "IOPS at depth 1", iops, 76, 81)
	within(t, "mean in ms", mean.Seconds()*1e3, 12.4, 13.0)
	within(t, "mean over expectation", float64(mean)/float64(one.RandomReadMean4K()), 0.98, 1.02)

	_, deep := closedLoop(t, Spec{Profile: "sata-7200"}, 31, 10000, randomly(timing.Read, size, 8, false))
	t.Logf("QD31 %.1f IOPS", deep)
	within(t, "depth 31 over depth 1", deep/iops, 2.0, 2.5)
}

// The averages of the data sheet, over all pairs of tracks.
func TestSATA7200Seek(t *testing.T) {
	p, err := lookup("sata-7200")
	if err != nil {
		t.Fatal(err)
	}
	mean := func(a, b, c, e, knee float64) float64 {
		n := p.Disk.Seek.Tracks
		sum := 0.0
		for d := int64(1); d < n; d++ {
			x := float64(d)
			ms := a + b*math.Sqrt(x)
			if x > knee {
				ms = c + e*x
			}
			sum += 2 * float64(n-d) * ms
		}
		return sum / float64(n) / float64(n)
	}
	r, w := p.Disk.Seek.Read, p.Disk.Seek.Write
	within(t, "average read seek in ms", mean(r.A, r.B, r.C, r.E, r.Knee), 8.45, 8.55)
	within(t, "average write seek in ms", mean(w.A, w.B, w.C, w.E, w.Knee), 9.45, 9.55)
}

// Streaming at 112 to 120 MB/s: what dd saw on such a disk in April 2016.
func TestSATA7200Sequential(t *testing.T) {
	for _, depth := range []int{1, 16} {
		s := Spec{Profile: "sata-7200", QueueDepth: depth}
		for _, op := range []timing.Op{timing.Read, timing.Write} {
			const sectors = 1280 << 10 / 512
			n := 4000
			_, per := closedLoop(t, s, depth, n, sequentially(op, sectors))
			rate := per * sectors * 512
			t.Logf("depth %d op %d: %.1f MB/s, expected %.1f", depth, op, rate/1e6, float64(s.SequentialRate())/1e6)
			within(t, "MB/s", rate/1e6, 112, 120)
			within(t, "rate over expectation", rate/float64(s.SequentialRate()), 0.99, 1.01)
		}
	}
}

func unitRate(v float64) unit.Rate { return unit.Rate(v) }
