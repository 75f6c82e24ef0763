package disk

import (
	"math"
	"time"

	"spindle/pipeline/drive/timing"
)

// segment is a stretch of addresses that was read and is kept.
type segment struct {
	first, last int64 // empty if equal
	used        time.Duration
}

// stream is the reading ahead that goes on while nobody needs the arm.
type stream struct {
	s     *segment // what it fills; nil when there is none
	from  int64    // the address that passed, or passes, at start
	at    place
	start float64 // ns
	limit int64   // the address at which it stops
}

// ahead is how far the disk reads beyond the host, in sectors.
func (d *Disk) ahead() int64 { return int64(d.p.ReadAhead.Segment) / timing.SectorSize }

// frontier is the address up to which the stream has read by now.
func (d *Disk) frontier() int64 {
	t := &d.stream
	return t.from + d.g.passed(t.at, float64(d.now)-t.start, t.limit-t.from)
}

// streamEnd is when the stream has filled its segment; the distant past if
// there is none.
func (d *Disk) streamEnd() time.Duration {
	t := &d.stream
	if t.s == nil || t.from >= t.limit {
		return math.MinInt64
	}
	took, _ := d.g.transfer(t.at, t.limit-t.from)
	return ns(t.start + took)
}

// valid is the range that segment s holds now. It keeps as much behind the
// frontier as it reads ahead.
func (d *Disk) valid(s *segment) (first, last int64) {
	if s != d.stream.s {
		return s.first, s.last
	}
	last = d.frontier()
	return max(s.first, last-d.ahead()), last
}

// startStream goes on reading at lba into s, from now on.
func (d *Disk) startStream(s *segment, lba int64) {
	d.stream = stream{s: s, from: lba, limit: lba}
	if lba >= d.g.sectors {
		return
	}
	d.stream.at = d.g.locate(lba)
	d.stream.start = d.arm.reach(float64(d.now), d.stream.at, false, 0)
	d.arm.at = d.stream.at
}

// extend lets the stream read as far as the host's position allows. It also
// moves the stream's start up to the track that is being read, or a reader of
// the whole disk would count its tracks from the first again and again.
func (d *Disk) extend(host int64) {
	t := &d.stream
	if t.s == nil {
		return
	}
	t.limit = max(t.limit, min(host+d.ahead(), d.g.sectors))
	for n := d.frontier() - t.from; n > t.at.spt-t.at.sector; {
		left := t.at.spt - t.at.sector
		next, skew := d.g.next(t.at)
		t.start += float64(left)/float64(t.at.spt)*d.g.rev + skew
		t.from += left
		t.at = next
		n -= left
	}
}

// stopStream ends reading ahead; its segment keeps what it has.
func (d *Disk) stopStream() {
	s := d.stream.s
	if s == nil {
		return
	}
	s.first, s.last = d.valid(s)
	d.position = s.last
	if s.last > d.stream.from {
		_, d.arm.at = d.g.transfer(d.stream.at, s.last-d.stream.from)
	}
	d.stream = stream{}
}

// readOn tells that the host has read up to lba from the cache. A stream that
// ran full starts again once half of its segment is free.
func (d *Disk) readOn(lba int64) {
	d.quiet = d.now + d.p.WriteCache.Linger.Std()
	s := d.stream.s
	if s == nil {
		return
	}
	first, last := d.valid(s)
	if lba <= first || lba > last {
		return // another segment
	}
	s.used = d.now
	if last < d.stream.limit {
		d.extend(lba)
		return
	}
	if d.op == nil && lba+d.ahead()-last >= d.ahead()/2 {
		d.stopStream()
		d.startStream(s, last)
		d.extend(lba)
	}
}

// along tells whether the stream brings the first sector of a read anyway, and
// when.
func (d *Disk) along(c *command) (at float64, ok bool) {
	s := d.stream.s
	if s == nil {
		return 0, false
	}
	first, last := d.valid(s)
	switch lba := c.next(); {
	case lba < first || lba >= d.stream.limit && lba > last:
		return 0, false
	case lba <= last:
		return float64(d.now), true
	default:
		t, _ := d.g.transfer(d.stream.at, lba-d.stream.from)
		return d.stream.start + t, true
	}
}

// follow serves a read from the stream: it is done when its last sector has
// passed.
func (d *Disk) follow(c *command) {
	t := &d.stream
	if last := d.frontier(); last >= t.limit {
		s := t.s
		d.stopStream()
		d.startStream(s, last)
	}
	t.s.used = d.now
	d.extend(c.end())
	op := &operation{c: c, first: c.next(), last: c.end(), along: true}
	took, _ := d.g.transfer(t.at, op.last-t.from)
	op.end = max(ns(t.start+took), d.now)
	c.link = max(d.now, d.linkEnd) + d.linkTime(c.Sectors)
	d.op = op
}

// tail finds a segment that holds lba, or ends there: the stream's excepted.
func (d *Disk) tail(lba int64) *segment {
	for _, s := range d.segments {
		if s != d.stream.s && s.first < s.last && s.first <= lba && lba <= s.last {
			return s
		}
	}
	return nil
}

// keep remembers what was read from the media, and goes on reading.
func (d *Disk) keep(first, last int64) {
	if len(d.segments) == 0 {
		return
	}
	s := d.tail(first)
	if s == nil || s.last != first {
		s = d.segments[0]
		for _, x := range d.segments[1:] {
			if x.first == x.last && s.first != s.last || (x.first == x.last) == (s.first == s.last) && x.used < s.used {
				s = x
			}
		}
		s.first = first
	}
	s.last, s.used = last, d.now
	s.first = max(s.first, last-d.ahead())
	d.startStream(s, last)
	d.extend(last)
}

// forget drops what the segments hold of a range that is written.
func (d *Disk) forget(first, last int64) {
	if s := d.stream.s; s != nil && first < d.stream.limit && last > s.first {
		d.stopStream()
	}
	for _, s := range d.segments {
		switch {
		case last <= s.first || first >= s.last:
		case first > s.first:
			s.last = first
		default:
			s.first, s.last = 0, 0
		}
	}
}
