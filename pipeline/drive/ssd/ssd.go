package ssd

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"spindle/pipeline/drive/timing"
)

// Options are what a machine chooses about its drive.
type Options struct {
	QueueDepth int  // commands in the drive at a time; 0 means the profile's
	WriteCache bool // off: a write is done when it is programmed
	Seed       uint64
}

// SSD is the state of one drive. It starts idle, with an empty buffer and all
// of its SLC free. It must not be used by several goroutines at a time.
//
// All its resources serve in order of arrival, so the time of a completion is
// known when a command is taken up, and only completions are events.
type SSD struct {
	p     Profile
	depth int
	cache bool
	rng   *rand.Rand

	now        time.Duration
	controller time.Duration   // when it is free
	link       time.Duration   // the same
	channels   []time.Duration // the same
	flash      programming

	outside []timing.Request
	inside  int
	done    []timing.Completion // in order of At
	out     []timing.Completion
}

// New makes a drive.
func New(p Profile, o Options) (*SSD, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("make ssd: %w", err)
	}
	if o.QueueDepth == 0 {
		o.QueueDepth = p.Queue.Depth
	}
	if o.QueueDepth < 1 || o.QueueDepth > p.Queue.Depth {
		return nil, fmt.Errorf("make ssd: queue depth %d: this drive takes 1 to %d", o.QueueDepth, p.Queue.Depth)
	}
	return &SSD{
		p: p, depth: o.QueueDepth, cache: o.WriteCache,
		rng:      rand.New(rand.NewPCG(o.Seed, 0x666c617368)),
		channels: make([]time.Duration, p.Flash.Channels),
		flash:    programming{p: p.Flash, slc: float64(p.Flash.SLC)},
	}, nil
}

// Sectors is the capacity.
func (s *SSD) Sectors() int64 { return int64(s.p.Capacity) / timing.SectorSize }

// Arrive takes a request at the time now, which must not be earlier than any
// time given before. The range must lie within the drive.
func (s *SSD) Arrive(now time.Duration, r timing.Request) {
	r.MustFit("ssd", s.Sectors())
	s.run(now)
	if s.inside >= s.depth {
		s.outside = append(s.outside, r)
		return
	}
	s.enter(r)
}

// Next is when the next command completes.
func (s *SSD) Next() (due time.Duration, ok bool) {
	switch {
	case len(s.out) > 0:
		return s.now, true
	case len(s.done) > 0:
		return s.done[0].At, true
	}
	return 0, false
}

// Advance moves the drive to the time now and gives what was completed since
// the last call, in order of time.
func (s *SSD) Advance(now time.Duration) []timing.Completion {
	s.run(now)
	out := s.out
	s.out = nil
	return out
}

// Volatile gives the stretches of [from, to) whose latest content only the
// buffer holds.
func (s *SSD) Volatile(from, to int64) []timing.Extent {
	if s.p.Buffer.Protected {
		return nil
	}
	return s.flash.volatile(s.now, from, to)
}

func (s *SSD) run(now time.Duration) {
	for len(s.done) > 0 && s.done[0].At <= now {
		c := s.done[0]
		s.done = s.done[1:]
		s.now = max(s.now, c.At)
		s.out = append(s.out, c)
		s.inside--
		if len(s.outside) > 0 {
			r := s.outside[0]
			s.outside = s.outside[1:]
			s.enter(r)
		}
	}
	s.now = max(s.now, now)
}

// enter takes a command up, which settles when it completes.
func (s *SSD) enter(r timing.Request) {
	s.inside++
	took := s.p.Write.Std()
	if r.Op == timing.Read {
		took = s.p.Read.Std()
	}
	start := max(s.now, s.controller)
	s.controller = start + took
	c := timing.Completion{ID: r.ID, Start: start, At: s.controller}
	switch r.Op {
	case timing.Read:
		c.At = s.read(s.controller, r)
	case timing.Write:
		c.At = s.write(s.controller, r)
	case timing.Flush:
		if !s.p.Buffer.Protected {
			c.At = max(c.At, s.flash.durable())
		}
	case timing.Trim:
		s.flash.forget(r.LBA, r.LBA+r.Sectors)
	}
	i, _ := slices.BinarySearchFunc(s.done, c, func(a, b timing.Completion) int {
		if a.At <= b.At { // after those of the same time
			return -1
		}
		return 1
	})
	s.done = slices.Insert(s.done, i, c)
}

// cross moves bytes over the link, from ready on.
func (s *SSD) cross(ready time.Duration, sectors int64) time.Duration {
	s.link = max(ready, s.link) + time.Duration(float64(sectors*timing.SectorSize)/float64(s.p.Link)*float64(time.Second))
	return s.link
}

// read gives when the last page of r has crossed the link.
func (s *SSD) read(ready time.Duration, r timing.Request) time.Duration {
	if s.flash.holds(ready, r.LBA, r.LBA+r.Sectors) {
		return s.cross(ready, r.Sectors)
	}
	page := int64(s.p.Flash.Page) / timing.SectorSize
	at := ready
	for lba, end := r.LBA, r.LBA+r.Sectors; lba < end; {
		next := min((lba/page+1)*page, end)
		ch := &s.channels[(lba/page)%int64(len(s.channels))]
		begin := max(ready, *ch)
		if begin == ready && begin < s.flash.end {
			// It waits for the rest of a program, of which any part may be over.
			begin += time.Duration(s.rng.Int64N(int64(s.p.Flash.Program)))
		}
		*ch = begin + s.p.Flash.Read.Std()
		at = max(at, s.cross(*ch, next-lba))
		lba = next
	}
	return at
}

// write gives when r is in the buffer, or programmed where that is asked for.
func (s *SSD) write(ready time.Duration, r timing.Request) time.Duration {
	crossed := s.cross(ready, r.Sectors)
	// The buffer has room once what lies that far back has been programmed.
	programmed, room := s.flash.program(crossed, r, int64(s.p.Buffer.Size))
	if !s.cache || r.FUA && !s.p.Buffer.Protected {
		return programmed
	}
	return max(crossed, room)
}
