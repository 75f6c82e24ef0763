package disk

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"spindle/pipeline/drive/timing"
)

// reach is how many sectors the durability test uses.
const reach = 20000

// media follows, sector by sector, which version of its content the host wrote
// and which one the arm has put on the media. There is at most one unfinished
// write of a sector.
type media struct {
	d        *Disk
	written  [reach]int // versions that arrived
	stored   [reach]int
	carried  map[int64]int // versions on their way
	carrying *operation
}

// watch notices when the arm takes up or puts down data.
func (m *media) watch() {
	if m.d.op == m.carrying {
		return
	}
	for lba, v := range m.carried {
		m.stored[lba] = max(m.stored[lba], v)
	}
	clear(m.carried)
	op := m.d.op
	if m.carrying = op; op == nil || op.c != nil && op.c.Op == timing.Read {
		return
	}
	for lba := op.first; lba < op.last; lba++ {
		m.carried[lba] = m.written[lba]
	}
	// What arrived but is not in the cache cannot be carried from there.
	for _, list := range [][]*command{m.d.outside, m.d.decoding, m.d.queue, m.d.admit} {
		for _, c := range list {
			for lba := max(c.next(), op.first); c.Op == timing.Write && lba < min(c.end(), op.last); lba++ {
				m.carried[lba]--
			}
		}
	}
}

// promise says which versions a request must find on the media.
type promise struct {
	lba  int64
	need []int
}

// now gives the present versions of a range.
func (m *media) now(lba, end int64) promise {
	return promise{lba, slices.Clone(m.written[lba:end])}
}

// What a flush promises: every write that was complete when the flush arrived
// is on the media when the flush is complete. And a forced write is there when
// it is complete.
func TestDurability(t *testing.T) {
	p := quick()
	p.Seek.Jitter = ms(0.1)
	p.CylinderSkew = ms(2.5)
	for _, o := range []Options{{WriteCache: true, QueueDepth: 1}, {WriteCache: true, QueueDepth: 16}, {QueueDepth: 16}} {
		d, err := New(p, o)
		if err != nil {
			t.Fatal(err)
		}
		m := media{d: d, carried: map[int64]int{}}
		r := rand.New(rand.NewPCG(11, 11))
		open := map[uint64]timing.Request{}
		promised := map[uint64]promise{}
		var now time.Duration
		flushes, forced := 0, 0
		step := func(until time.Duration) {
			for {
				due, ok := d.Next()
				if !ok || due > until {
					break
				}
				now = max(now, due)
				done := d.Advance(now)
				m.watch()
				for _, c := range done {
					p := promised[c.ID]
					for i, v := range p.need {
						if lba := p.lba + int64(i); m.stored[lba] < v {
							t.Fatalf("%+v: request %+v done at %v, sector %d has version %d on the media, want %d", o, open[c.ID], c.At, lba, m.stored[lba], v)
						}
					}
					delete(open, c.ID)
				}
			}
			now = until
		}
		for id := range uint64(3000) {
			step(now + time.Duration(r.Int64N(int64(3*time.Millisecond))))
			q := arbitrary(r, id, reach)
			// Trimmed data may be lost, and so may what overlapping requests
			// write: neither is what this test is about.
			if q.Op == timing.Trim || overlaps(open, q) {
				continue
			}
			switch {
			case q.Op == timing.Write:
				for lba := q.LBA; lba < q.LBA+q.Sectors; lba++ {
					m.written[lba]++
				}
				if q.FUA || !o.WriteCache {
					promised[id] = m.now(q.LBA, q.LBA+q.Sectors)
					forced++
				}
			case q.Op == timing.Flush:
				p := m.now(0, reach)
				for _, x := range open {
					for lba := x.LBA; x.Op == timing.Write && lba < x.LBA+x.Sectors; lba++ {
						p.need[lba]-- // this version need not be there
					}
				}
				promised[id] = p
				flushes++
			}
			open[id] = q
			d.Arrive(now, q)
			m.watch()
		}
		step(now + time.Hour)
		if len(open) > 0 || d.Dirty() > 0 {
			t.Errorf("%+v: %d requests never completed, %d sectors stay dirty", o, len(open), d.Dirty())
		}
		if flushes < 20 || forced < 20 {
			t.Errorf("%+v: only %d flushes and %d forced writes", o, flushes, forced)
		}
	}
}

func overlaps(open map[uint64]timing.Request, q timing.Request) bool {
	for _, x := range open {
		if x.LBA < q.LBA+q.Sectors && q.LBA < x.LBA+x.Sectors {
			return true
		}
	}
	return false
}
