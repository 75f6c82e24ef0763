package disk

import (
	"math"
	"time"

	"spindle/pipeline/drive/timing"
)

// pieceSectors is the most that is transferred before the next choice: 4 MiB.
// Only zeroing of large ranges, written through, is longer than that.
const pieceSectors = 8192

// operation is what the arm is busy with. It cannot be interrupted.
type operation struct {
	end   time.Duration
	c     *command // nil for destaging
	first int64    // the addresses that are transferred
	last  int64    // one past
	at    place    // where the heads are at the end
	along bool     // the stream goes on: a read that waits for reading ahead
}

func ns(t float64) time.Duration { return time.Duration(math.Round(t)) }

// dispatch gives the arm something to do if it is free.
func (d *Disk) dispatch() {
	if d.op != nil {
		return
	}
	d.serveCached()
	waiting := len(d.queue) > 0
	// Somebody waits for data to reach the media.
	pressed := (len(d.admit) > 0 || len(d.flushes) > 0) && d.dirty.Sectors() > 0
	switch {
	case waiting && (!pressed || d.turn):
		d.turn = false
		d.serve(d.choose())
	case pressed:
		d.turn = true
		d.destage()
	case d.dirty.Sectors() > 0 && d.now >= d.quiet && d.now >= d.streamEnd():
		d.destage()
	}
}

// serveCached answers reads whose data has come into the cache meanwhile.
func (d *Disk) serveCached() {
	kept := d.queue[:0]
	for _, c := range d.queue {
		if c.Op == timing.Read && d.cached(c.next(), c.end()) {
			c.start = d.now
			c.link = max(d.now, d.linkEnd) + d.linkTime(c.Sectors)
			d.hit(c)
		} else {
			kept = append(kept, c)
		}
	}
	clear(d.queue[len(kept):])
	d.queue = kept
}

// choose takes the next command out of the queue: the one whose first sector
// can be reached soonest, unless one has waited too long. On a tie the earlier
// arrival wins.
func (d *Disk) choose() *command {
	best := 0
	oldest := d.queue[0]
	if len(d.queue) > 1 && d.now-oldest.arrived <= d.p.Queue.AgeLimit.Std() {
		soonest := math.Inf(1)
		for i, c := range d.queue {
			if t := d.cost(c); t < soonest {
				best, soonest = i, t
			}
		}
	}
	c := d.queue[best]
	d.queue = append(d.queue[:best], d.queue[best+1:]...)
	return c
}

// cost is when the first sector of c would be reached, expecting the worst of
// the jitter: a sector that is just missed comes a whole turn later.
func (d *Disk) cost(c *command) float64 {
	now := float64(d.now)
	if c.Op == timing.Read {
		if t, ok := d.along(c); ok {
			return t
		}
	}
	return d.arm.reach(now, d.g.locate(d.from(c)), c.Op == timing.Write, float64(d.p.Seek.Jitter))
}

// from is the first address that must come from the media: a read whose start
// is in a segment goes on where the segment ends.
func (d *Disk) from(c *command) int64 {
	if c.Op == timing.Read {
		if s := d.tail(c.next()); s != nil {
			return s.last
		}
	}
	return c.next()
}

// serve starts a command on the media.
func (d *Disk) serve(c *command) {
	if c.served == 0 {
		c.start = d.now
	}
	if c.Op == timing.Read {
		if _, ok := d.along(c); ok {
			d.follow(c)
			return
		}
	}
	d.stopStream()
	op := &operation{c: c, first: d.from(c)}
	op.last = min(c.end(), op.first+pieceSectors)
	begin := d.transfer(op, c.Op == timing.Write)
	if c.served == 0 {
		c.link = max(ns(begin), d.linkEnd) + d.linkTime(c.Sectors)
	}
	if c.Op == timing.Write {
		d.forget(op.first, op.last)
	}
}

// transfer makes op what the arm does, and gives the time of the first sector.
func (d *Disk) transfer(op *operation, write bool) (begin float64) {
	to := d.g.locate(op.first)
	begin = d.arm.reach(float64(d.now), to, write, d.jitter(to))
	t, at := d.g.transfer(to, op.last-op.first)
	op.end, op.at = max(ns(begin+t), d.now), at
	d.op = op
	return begin
}

// jitter draws how much a seek deviates, in ns.
func (d *Disk) jitter(to place) float64 {
	if d.p.Seek.Jitter == 0 || to.cyl == d.arm.at.cyl {
		return 0
	}
	return (2*d.rng.Float64() - 1) * float64(d.p.Seek.Jitter)
}

// finish ends an operation.
func (d *Disk) finish(op *operation) {
	if !op.along {
		d.arm.at = op.at
		d.position = op.last
	}
	if op.c == nil {
		d.flight = nil
		d.settleFlushes()
		d.fill()
		return
	}
	c := op.c
	c.served = op.last - c.LBA
	switch {
	case c.Op == timing.Write:
		// The media is newer than the cache now.
		d.dirty.Remove(op.first, op.last, nil)
		d.settleFlushes()
		d.fill()
	case !op.along:
		d.keep(op.first, op.last)
	}
	if c.Op == timing.Read {
		d.quiet = d.now + d.p.WriteCache.Linger.Std()
	}
	if c.served < c.Sectors {
		d.queue = append([]*command{c}, d.queue...)
		return
	}
	d.complete(c, c.link)
}
