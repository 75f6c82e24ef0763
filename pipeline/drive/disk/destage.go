package disk

import (
	"math"

	"spindle/pipeline/drive/dirty"
	"spindle/pipeline/drive/timing"
)

func (d *Disk) inFlight() int64 {
	var n int64
	for _, e := range d.flight {
		n += e.End - e.Start
	}
	return n
}

// Volatile gives the stretches of [from, to) whose latest content only the
// write-back cache holds; see [timing.Cache].
func (d *Disk) Volatile(from, to int64) []timing.Extent {
	var list []timing.Extent
	for p := d.dirty.Find(from); d.dirty.At(p) != nil; p = d.dirty.After(p) {
		e := d.dirty.At(p)
		if e.Start >= to {
			break
		}
		first, last := max(e.Start, from), min(e.End, to)
		list = append(list, timing.Extent{LBA: first, Sectors: last - first})
	}
	return list
}

// fill moves waiting writes into the cache as far as there is room. A write is
// done once all of it is in and has crossed the link, so one that is larger
// than the cache only needs patience.
func (d *Disk) fill() {
	for len(d.admit) > 0 {
		c := d.admit[0]
		end := c.end()
		if d.dirty.Run(c.next()) < end { // else it replaces what is there
			end = min(end, c.next()+d.cache-d.Dirty())
		}
		if end <= c.next() {
			return
		}
		d.forget(c.next(), end)
		d.dirty.Write(c.next(), end, d.epoch, d.now)
		c.served = end - c.LBA
		if c.served < c.Sectors {
			return
		}
		d.admit = d.admit[1:]
		d.complete(c, c.link)
	}
}

// flush waits for what is dirty now. What comes later belongs to a later epoch.
func (d *Disk) flush(c *command) {
	c.epoch = d.epoch
	d.epoch++
	d.flushes = append(d.flushes, c)
	d.settleFlushes()
}

// settleFlushes completes the flushes that have nothing to wait for any more.
func (d *Disk) settleFlushes() {
	for len(d.flushes) > 0 {
		c := d.flushes[0]
		if d.dirty.UpTo(c.epoch) > 0 {
			return
		}
		for _, e := range d.flight {
			if e.Epoch <= c.epoch {
				return
			}
		}
		d.flushes = d.flushes[1:]
		d.complete(c, d.now)
	}
}

// destage starts writing dirty data: an unbroken run, up to the end of its
// track.
func (d *Disk) destage() {
	d.stopStream()
	lba := d.pick()
	to := d.g.locate(lba)
	op := &operation{first: lba, last: min(d.dirty.Run(lba), lba+to.spt-to.sector)}
	d.transfer(op, true)
	d.dirty.Remove(op.first, op.last, func(e dirty.Extent) { d.flight = append(d.flight, e) })
}

// pick chooses the address at which to destage. It looks at the next extents
// in ascending order from the arm, round the end of the disk (C-LOOK), and takes
// the one that can be reached soonest (SPTF); while a flush waits, only at those
// that it waits for; and what is too old goes first.
func (d *Disk) pick() int64 {
	limit := uint64(math.MaxUint64)
	if len(d.flushes) > 0 && d.dirty.UpTo(d.flushes[0].epoch) > 0 {
		limit = d.flushes[0].epoch
	}
	age := d.p.WriteCache.AgeLimit.Std()
	if d.now-d.checked > age {
		if e, ok := d.dirty.Oldest(); ok {
			d.checked = e.Born
			if d.now-e.Born > age {
				return e.Start
			}
		}
	}
	best, soonest := int64(-1), math.Inf(1)
	seen := 0
	look := func(from, to int64) {
		for p := d.dirty.Find(from); seen < d.p.WriteCache.Window; p = d.dirty.After(p) {
			e := d.dirty.At(p)
			if e == nil || e.Start >= to {
				return
			}
			if e.Epoch > limit {
				continue
			}
			seen++
			t := d.arm.reach(float64(d.now), d.g.locate(e.Start), true, float64(d.p.Seek.Jitter))
			if t < soonest {
				best, soonest = e.Start, t
			}
		}
	}
	look(d.position, math.MaxInt64)
	look(0, d.position)
	return best
}
