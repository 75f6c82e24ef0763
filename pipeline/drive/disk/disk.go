package disk

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"spindle/pipeline/drive/dirty"
	"spindle/pipeline/drive/timing"
)

// Options are what a machine chooses about its disk.
type Options struct {
	QueueDepth int // commands in the disk at a time; 0 means the profile's
	WriteCache bool
	Seed       uint64 // of the jitter of seeks
	// Phase is the angle at the start, in turns: the spindles of an array do
	// not turn together.
	Phase float64
}

// Disk is the state of one disk. It starts with empty caches, the heads at
// cylinder 0 and the angle that Options say. It must not be used by several goroutines at a
// time.
type Disk struct {
	p     Profile
	g     *geometry
	arm   arm
	depth int
	cache int64 // sectors of the write-back cache; 0 is write through
	rng   *rand.Rand

	now     time.Duration
	linkEnd time.Duration // when the link is free

	outside  []*command // beyond the queue depth
	inside   int
	decoding []*command // in the disk, not ready yet; in order of time
	queue    []*command // wait for the arm
	admit    []*command // writes that wait for room in the cache
	flushes  []*command // wait for dirty data; in order of epoch
	done     []*command // have a time of completion; in order of it
	out      []timing.Completion

	op       *operation // what the arm does; nil when nobody waits for it
	segments []*segment
	stream   stream
	dirty    dirty.Set
	flight   []dirty.Extent // being destaged: neither dirty nor clean
	epoch    uint64         // flushes that arrived
	position int64          // address after the last that was transferred
	turn     bool           // destaging had the last turn
	quiet    time.Duration
	checked  time.Duration // no dirty data was written before this
}

// command is a request in the disk.
type command struct {
	timing.Request
	arrived time.Duration
	ready   time.Duration // when it is decoded
	link    time.Duration // when its data can have crossed the link
	start   time.Duration
	at      time.Duration
	served  int64  // sectors
	epoch   uint64 // of a Flush
}

func (c *command) next() int64 { return c.LBA + c.served }
func (c *command) end() int64  { return c.LBA + c.Sectors }

// New makes a disk.
func New(p Profile, o Options) (*Disk, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("make disk: %w", err)
	}
	d := &Disk{p: p, g: newGeometry(p), depth: o.QueueDepth}
	d.g.phase = o.Phase
	if d.depth == 0 {
		d.depth = p.Queue.Depth
	}
	if d.depth < 1 || d.depth > p.Queue.Depth {
		return nil, fmt.Errorf("make disk: queue depth %d: this disk takes 1 to %d", d.depth, p.Queue.Depth)
	}
	if o.WriteCache {
		d.cache = int64(p.WriteCache.Size) / timing.SectorSize
	}
	d.arm = newArm(d.g, p)
	d.rng = rand.New(rand.NewPCG(o.Seed, 0x7370696e646c65))
	for range p.ReadAhead.Segments {
		d.segments = append(d.segments, &segment{})
	}
	return d, nil
}

// Sectors is the capacity.
func (d *Disk) Sectors() int64 { return d.g.sectors }

// Dirty is how many sectors the write-back cache holds for the media.
func (d *Disk) Dirty() int64 { return d.dirty.Sectors() + d.inFlight() }

// Arrive takes a request at the time now, which must not be earlier than any
// time given before. The range must lie within the disk.
func (d *Disk) Arrive(now time.Duration, r timing.Request) {
	r.MustFit("disk", d.g.sectors)
	d.run(now)
	c := &command{Request: r, arrived: now}
	if d.inside >= d.depth {
		d.outside = append(d.outside, c)
		return
	}
	d.enter(c)
}

// Next is when something happens next. What happens need not complete a
// request, but until then none completes.
func (d *Disk) Next() (due time.Duration, ok bool) {
	if len(d.out) > 0 {
		return d.now, true
	}
	return d.event()
}

// Advance moves the disk to the time now and gives what was completed since
// the last call, in order of time.
func (d *Disk) Advance(now time.Duration) []timing.Completion {
	d.run(now)
	out := d.out
	d.out = nil
	return out
}

// enter takes a command into the disk.
func (d *Disk) enter(c *command) {
	d.inside++
	c.ready = d.now + d.p.Overhead.Std()
	d.decoding = append(d.decoding, c)
}

// event is the time of the next change of state.
func (d *Disk) event() (due time.Duration, ok bool) {
	soonest := func(t time.Duration) {
		if !ok || t < due {
			due, ok = t, true
		}
	}
	if len(d.decoding) > 0 {
		soonest(d.decoding[0].ready)
	}
	if len(d.done) > 0 {
		soonest(d.done[0].at)
	}
	if d.op != nil {
		soonest(d.op.end)
	} else if d.dirty.Sectors() > 0 {
		// Only reading ahead and lingering keep an idle arm from destaging.
		soonest(max(d.quiet, d.streamEnd()))
	}
	return due, ok
}

// run lets everything happen that is due by now.
func (d *Disk) run(now time.Duration) {
	timing.Run(&d.now, now, d.event, d.step)
}

// step handles what is due at d.now, in a fixed order.
func (d *Disk) step() {
	if d.op != nil && d.op.end <= d.now {
		op := d.op
		d.op = nil
		d.finish(op)
	}
	for len(d.decoding) > 0 && d.decoding[0].ready <= d.now {
		c := d.decoding[0]
		d.decoding = d.decoding[1:]
		d.begin(c)
	}
	for len(d.done) > 0 && d.done[0].at <= d.now {
		c := d.done[0]
		d.done = d.done[1:]
		d.out = append(d.out, timing.Completion{ID: c.ID, Start: c.start, At: c.at})
		d.inside--
		if len(d.outside) > 0 {
			next := d.outside[0]
			d.outside = d.outside[1:]
			d.enter(next)
		}
	}
	d.dispatch()
}

// complete sets the time at which c is done.
func (d *Disk) complete(c *command, at time.Duration) {
	c.at = max(at, d.now)
	i, _ := slices.BinarySearchFunc(d.done, c, func(a, b *command) int {
		if a.at <= b.at { // after those of the same time
			return -1
		}
		return 1
	})
	d.done = slices.Insert(d.done, i, c)
}

// begin looks at a command that was just decoded.
func (d *Disk) begin(c *command) {
	c.start = d.now
	if c.Op == timing.Read || c.Op == timing.Write {
		c.link = max(d.now, d.linkEnd) + d.linkTime(c.Sectors)
	}
	switch {
	case c.Op == timing.Flush:
		d.flush(c)
	case c.Op == timing.Trim:
		d.dirty.Remove(c.LBA, c.end(), nil)
		d.forget(c.LBA, c.end())
		d.complete(c, d.now)
		d.settleFlushes()
	case c.Op == timing.Read && d.cached(c.LBA, c.end()):
		d.hit(c)
	case c.Op == timing.Write && d.cache > 0 && !c.FUA:
		d.linkEnd = c.link
		d.admit = append(d.admit, c)
		d.fill()
	default:
		d.queue = append(d.queue, c)
	}
}

func (d *Disk) linkTime(sectors int64) time.Duration {
	return time.Duration(float64(sectors) * timing.SectorSize / float64(d.p.Link) * float64(time.Second))
}

// hit answers a read from the cache.
func (d *Disk) hit(c *command) {
	d.linkEnd = c.link
	d.complete(c, c.link)
	d.readOn(c.end())
}

// cached says whether a range can be read without the media.
func (d *Disk) cached(lba, end int64) bool {
	for _, s := range d.segments {
		if first, last := d.valid(s); first <= lba && end <= last {
			return true
		}
	}
	return d.held(lba) >= end
}

// held is how far from lba on the write-back cache has everything.
func (d *Disk) held(lba int64) int64 {
	for {
		to := d.dirty.Run(lba)
		for _, e := range d.flight {
			if e.Start <= to && to < e.End {
				to = e.End
			}
		}
		if to == lba {
			return to
		}
		lba = to
	}
}
