package uml

import (
	"fmt"
	"slices"
	"time"

	"spindle/internal/fault"
	"spindle/internal/vhost"
	"spindle/pipeline/drive"
	"spindle/pipeline/drive/sparse"
	"spindle/pipeline/drive/timing"
)

// untimed is what a request takes on a drive whose model is off, and on the
// root and the mailbox: little, and more than nothing, since a request that is
// done before it was sent would confuse the guest.
const untimed = time.Microsecond

// clock gives the virtual time.
type clock func() time.Duration

// delayed completes requests a fixed time after their arrival.
type delayed struct {
	queue []delayedRequest
}

type delayedRequest struct {
	due  time.Duration
	done func()
}

func (d *delayed) add(due time.Duration, done func()) {
	i := len(d.queue)
	for i > 0 && d.queue[i-1].due > due {
		i--
	}
	d.queue = slices.Insert(d.queue, i, delayedRequest{due, done})
}

func (d *delayed) next() (time.Duration, bool) {
	if len(d.queue) == 0 {
		return 0, false
	}
	return d.queue[0].due, true
}

func (d *delayed) fire(now time.Duration) {
	for len(d.queue) > 0 && d.queue[0].due <= now {
		r := d.queue[0]
		d.queue = d.queue[1:]
		r.done()
	}
}

// disk is a test drive in virtual time: a model, and the content. Data moves
// when a request arrives: the guest does not look at it before the answer.
type disk struct {
	delayed
	spec    drive.Spec
	seed    uint64
	turn    time.Duration
	place   int64 // sectors
	size    int64
	now     clock
	content *sparse.File
	trace   *trace

	model   timing.Model // nil: never timed
	timed   bool         // what arrives goes to the model
	epoch   time.Duration
	last    uint64
	waiting map[uint64]*waiter
	head    int64 // sector after the last request, for the trace
	stats   drive.Stats
	depth   int
	wait    time.Duration
	service time.Duration
}

type waiter struct {
	timing.Request
	arrived time.Duration // of the model's time
	seek    int64
	done    func(error)
	err     error
}

func newDisk(d Disk, now clock, t *trace) (*disk, vhost.Device, int, error) {
	dev, err := d.Spec.Device()
	if err != nil {
		return nil, nil, 0, err
	}
	if d.Place < 0 || d.Place%timing.SectorSize != 0 || d.Place > dev.Capacity-dev.Size {
		return nil, nil, 0, fault.Planf("%v of the drive's %v, from %v on: that is beyond its end", dev.Size, dev.Capacity, d.Place)
	}
	x := &disk{
		spec: d.Spec, seed: d.Seed, turn: d.Turn, place: int64(d.Place / timing.SectorSize), size: int64(dev.Size),
		now: now, trace: t, waiting: map[uint64]*waiter{},
	}
	desc := vhost.Disk{
		Size: x.size, Serial: d.Serial, WriteCache: dev.WriteCache, Rotation: dev.Rotation,
		QueueDepth: dev.QueueDepth, FUA: dev.WriteCache, Backend: x,
	}
	var made vhost.Device
	kind := virtioSCSI
	switch dev.Bus {
	case drive.VirtioSCSI:
		made, err = vhost.SCSI(desc)
	case drive.VirtioBlk:
		kind = virtioBlock
		made, err = vhost.Block(desc)
	default:
		err = fault.Planf("bus %s: virtual time has virtio-scsi and virtio-blk", dev.Bus)
	}
	if err != nil {
		return nil, nil, 0, err
	}
	if x.content, err = sparse.Open(d.Backing, x.size); err != nil {
		return nil, nil, 0, err
	}
	return x, made, kind, nil
}

// Submit takes a request of the guest.
func (d *disk) Submit(r *vhost.Request, done func(error)) {
	err := d.move(r)
	d.depth++
	d.stats.MaxDepth = max(d.stats.MaxDepth, d.depth)
	op := d.count(r)
	now := d.now()
	if !d.timed {
		d.trace.setup(now, op, r)
		d.add(now+untimed, func() { d.depth--; done(err) })
		return
	}
	d.last++
	w := &waiter{
		Request: timing.Request{ID: d.last, Op: op, LBA: r.Offset / timing.SectorSize, Sectors: r.Length / timing.SectorSize, FUA: r.FUA},
		arrived: now - d.epoch, done: done, err: err,
	}
	onDrive := w.Request
	if op != timing.Flush {
		w.seek = w.LBA - d.head
		d.head = w.LBA + w.Sectors
		onDrive.LBA += d.place
	}
	d.waiting[w.ID] = w
	d.model.Arrive(w.arrived, onDrive)
}

func (d *disk) move(r *vhost.Request) error {
	switch r.Op {
	case vhost.Read:
		return d.content.ReadVec(r.Data, r.Offset)
	case vhost.Write:
		return d.content.WriteVec(r.Data, r.Offset)
	}
	return nil
}

func (d *disk) count(r *vhost.Request) timing.Op {
	s := &d.stats
	switch r.Op {
	case vhost.Read:
		s.Reads++
		s.ReadBytes += r.Length
		return timing.Read
	case vhost.Write:
		s.Writes++
		s.WriteBytes += r.Length
		if r.FUA {
			s.Forced++
		}
		return timing.Write
	}
	s.Flushes++
	return timing.Flush
}

func (d *disk) next() (time.Duration, bool) {
	due, ok := d.delayed.next()
	if d.model != nil && len(d.waiting) > 0 {
		// What the drive does when nobody waits for it, it does when it is next
		// asked: no event of the calendar is spent on it.
		if t, any := d.model.Next(); any {
			if t += d.epoch; !ok || t < due {
				due, ok = t, true
			}
		}
	}
	return due, ok
}

func (d *disk) fire(now time.Duration) {
	d.delayed.fire(now)
	if d.model == nil || len(d.waiting) == 0 {
		return
	}
	for _, c := range d.model.Advance(now - d.epoch) {
		w := d.waiting[c.ID]
		delete(d.waiting, c.ID)
		d.depth--
		d.stats.Timed++
		d.wait += c.Start - w.arrived
		d.service += c.At - c.Start
		d.trace.timed(w, c, d.turn)
		w.done(w.err)
	}
}

// setTimed turns the model on, anew from now on, or off.
func (d *disk) setTimed(on bool) error {
	d.timed = false
	if !on {
		return nil
	}
	if n := len(d.waiting); n > 0 {
		return fmt.Errorf("drive has %d requests under way", n)
	}
	m, err := d.spec.Model(d.seed)
	if err != nil || m == nil {
		return err
	}
	m.Advance(d.turn)
	d.model, d.epoch, d.timed = m, d.now()-d.turn, true
	d.head, d.wait, d.service = 0, 0, 0
	d.stats = drive.Stats{}
	return nil
}

// figures are the drive's since it was last timed.
func (d *disk) figures() drive.Stats {
	s := d.stats
	if s.Timed > 0 {
		s.MeanWait = d.wait / time.Duration(s.Timed)
		s.MeanService = d.service / time.Duration(s.Timed)
	}
	return s
}

// plain is a drive that takes no time to speak of: the root.
type plain struct {
	delayed
	now     clock
	content *sparse.File
}

func (p *plain) Submit(r *vhost.Request, done func(error)) {
	var err error
	switch r.Op {
	case vhost.Read:
		err = p.content.ReadVec(r.Data, r.Offset)
	case vhost.Write:
		err = p.content.WriteVec(r.Data, r.Offset)
	}
	p.add(p.now()+untimed, func() { done(err) })
}
