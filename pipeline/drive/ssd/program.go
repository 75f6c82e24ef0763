package ssd

import (
	"sort"
	"time"

	"spindle/pipeline/drive/timing"
)

// programming is what goes on behind the buffer: bytes are programmed in the
// order in which they came, without a pause while there are any.
type programming struct {
	p     Flash
	slc   float64       // bytes still free when all that is accepted is programmed
	end   time.Duration // when that is
	taken int64         // bytes accepted since the start
	runs  []run         // those that are not over, in order
}

// run is one write on its way from the buffer to the flash.
type run struct {
	first, last int64         // sectors; empty when they were trimmed
	before      int64         // bytes accepted before it
	bytes       int64         // whole pages
	start, end  time.Duration // of programming
}

// over drops what is programmed by now.
func (g *programming) over(now time.Duration) {
	n := 0
	for n < len(g.runs) && g.runs[n].end <= now {
		n++
	}
	g.runs = g.runs[n:]
}

// program accepts a write whose data is there at the time now. It gives when
// the write is programmed, and when everything but the last size bytes is: the
// time at which a buffer of that size has room for it.
func (g *programming) program(now time.Duration, r timing.Request, size int64) (programmed, room time.Duration) {
	g.over(now)
	page := int64(g.p.Page)
	bytes := (r.Sectors*timing.SectorSize + page - 1) / page * page
	start := max(now, g.end)
	if idle := now - g.end; idle > 0 {
		g.slc = min(float64(g.p.SLC), g.slc+idle.Seconds()*float64(g.p.Sustained))
	}
	fast := min(float64(bytes), g.slc)
	g.slc -= fast
	took := (float64(bytes) - fast) / float64(g.p.Sustained)
	if fast > 0 {
		took += fast / float64(g.p.SLCRate)
	}
	// The last page is on its way for as long as a program takes, but the next
	// ones go on beside it.
	g.end = start + time.Duration(took*float64(time.Second))
	x := run{r.LBA, r.LBA + r.Sectors, g.taken, bytes, start, g.end}
	g.taken += bytes
	g.runs = append(g.runs, x)
	return g.durable(), g.reached(g.taken - size)
}

// durable is when all that was accepted is programmed, to the last page.
func (g *programming) durable() time.Duration {
	if g.taken == 0 {
		return 0
	}
	return g.end + g.p.Program.Std()
}

// reached is when the first bytes of all that was accepted are programmed.
func (g *programming) reached(bytes int64) time.Duration {
	i := sort.Search(len(g.runs), func(i int) bool { return g.runs[i].before+g.runs[i].bytes >= bytes })
	if i == len(g.runs) || bytes <= g.runs[i].before {
		return 0 // long ago
	}
	x := g.runs[i]
	return x.start + time.Duration(float64(bytes-x.before)/float64(x.bytes)*float64(x.end-x.start))
}

// forget takes [first, last) out of what is of interest to anybody. It is
// programmed all the same: it may be on its way already.
func (g *programming) forget(first, last int64) {
	var kept []run
	for _, x := range g.runs {
		low := x
		low.last = min(x.last, first)
		x.first = max(x.first, last)
		if low.first < low.last {
			if x.first < x.last {
				// One write, two pieces: the second needs no time of its own.
				high := x
				high.before, high.bytes, high.start = x.before+x.bytes, 0, x.end
				kept = append(kept, low, high)
				continue
			}
			kept = append(kept, low)
			continue
		}
		x.first = min(x.first, x.last)
		kept = append(kept, x)
	}
	g.runs = kept
}

// holds says whether the buffer has all of [first, last) at the time now.
func (g *programming) holds(now time.Duration, first, last int64) bool {
	for moved := true; moved && first < last; {
		moved = false
		for _, x := range g.runs {
			if x.end > now && x.first <= first && first < x.last {
				first, moved = x.last, true
			}
		}
	}
	return first >= last
}

// volatile gives what of [from, to) is in the buffer alone.
func (g *programming) volatile(now time.Duration, from, to int64) []timing.Extent {
	g.over(now)
	var list []timing.Extent
	for _, x := range g.runs {
		if a, b := max(x.first, from), min(x.last, to); a < b {
			list = append(list, timing.Extent{LBA: a, Sectors: b - a})
		}
	}
	return list
}
