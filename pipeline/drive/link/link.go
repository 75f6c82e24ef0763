// Package link puts a slow cable between the host and a drive: USB.
//
// A [Link] is a [timing.Model] around another one. Commands and data cross it
// one after the other, at rates of its own for each direction: data to be
// written before the drive has the command, data read after the drive has it.
// What the drive does meanwhile (destaging, reading ahead) it does as before.
//
// It does not model packets, bus frames or hubs; their cost is in the rates and
// in the time per command.
package link

import (
	"fmt"
	"slices"
	"time"

	"spindle/internal/unit"
	"spindle/pipeline/drive/timing"
)

// Profile describes a link.
type Profile struct {
	Read     unit.Rate     `yaml:"read"`     // data from the drive
	Write    unit.Rate     `yaml:"write"`    // data to the drive
	Overhead unit.Duration `yaml:"overhead"` // of each command: wrapping, status, turning round
}

// Validate checks the numbers. Errors name the key.
func (p Profile) Validate() error {
	switch {
	case p.Read <= 0:
		return fmt.Errorf("read %s: not positive", p.Read)
	case p.Write <= 0:
		return fmt.Errorf("write %s: not positive", p.Write)
	case p.Overhead > unit.Duration(time.Second):
		return fmt.Errorf("overhead %s: more than a second", p.Overhead)
	}
	return nil
}

// Takes is how long a request of that many bytes occupies the link.
func (p Profile) Takes(op timing.Op, bytes unit.Size) time.Duration {
	rate := p.Read
	switch op {
	case timing.Write:
		rate = p.Write
	case timing.Flush, timing.Trim:
		return p.Overhead.Std()
	}
	return p.Overhead.Std() + time.Duration(float64(bytes)/float64(rate)*float64(time.Second))
}

// Link is the state of a link and of the drive behind it.
type Link struct {
	p     Profile
	inner timing.Model

	now    time.Duration
	free   time.Duration
	coming []crossing          // on their way to the drive, in order of time
	inside map[uint64]crossing // with the drive
	done   []timing.Completion // in order of At
	out    []timing.Completion
}

// crossing is a request and when it came and gets over.
type crossing struct {
	timing.Request
	start, at time.Duration
}

// New puts a link before inner, which must not have been used yet.
func New(p Profile, inner timing.Model) *Link {
	return &Link{p: p, inner: inner, inside: map[uint64]crossing{}}
}

// Arrive takes a request; see [timing.Model].
func (l *Link) Arrive(now time.Duration, r timing.Request) {
	l.run(now)
	c := crossing{Request: r, start: max(now, l.free)}
	c.at = c.start
	if r.Op != timing.Read {
		c.at += l.p.Takes(r.Op, unit.Size(r.Sectors*timing.SectorSize))
		l.free = c.at
	}
	l.coming = append(l.coming, c)
	l.run(now)
}

// Next is when something happens next.
func (l *Link) Next() (due time.Duration, ok bool) {
	if len(l.out) > 0 {
		return l.now, true
	}
	return l.event()
}

func (l *Link) event() (due time.Duration, ok bool) {
	due, ok = l.inner.Next()
	if len(l.coming) > 0 && (!ok || l.coming[0].at < due) {
		due, ok = l.coming[0].at, true
	}
	if len(l.done) > 0 && (!ok || l.done[0].At < due) {
		due, ok = l.done[0].At, true
	}
	return due, ok
}

// Advance moves to the time now; see [timing.Model].
func (l *Link) Advance(now time.Duration) []timing.Completion {
	l.run(now)
	out := l.out
	l.out = nil
	return out
}

// Volatile is what the drive would lose. What is on the cable is acknowledged
// to nobody.
func (l *Link) Volatile(from, to int64) []timing.Extent {
	if c, ok := l.inner.(timing.Cache); ok {
		return c.Volatile(from, to)
	}
	return nil
}

func (l *Link) run(now time.Duration) {
	timing.Run(&l.now, now, l.event, l.step)
}

// step handles what is due at l.now, in a fixed order.
func (l *Link) step() {
	for _, c := range l.inner.Advance(l.now) {
		x := l.inside[c.ID]
		delete(l.inside, c.ID)
		c.Start = min(x.start, c.Start)
		if x.Op == timing.Read {
			l.free = max(c.At, l.free) + l.p.Takes(x.Op, unit.Size(x.Sectors*timing.SectorSize))
			c.At = l.free
		}
		c.At = max(c.At, l.now)
		i, _ := slices.BinarySearchFunc(l.done, c, func(a, b timing.Completion) int {
			if a.At <= b.At {
				return -1
			}
			return 1
		})
		l.done = slices.Insert(l.done, i, c)
	}
	for len(l.coming) > 0 && l.coming[0].at <= l.now {
		c := l.coming[0]
		l.coming = l.coming[1:]
		l.inside[c.ID] = c
		l.inner.Arrive(l.now, c.Request)
	}
	for len(l.done) > 0 && l.done[0].At <= l.now {
		l.out = append(l.out, l.done[0])
		l.done = l.done[1:]
	}
}
