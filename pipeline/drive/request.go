package drive

import (
	"sync/atomic"
	"time"

	"spindle/internal/nbd"
	"spindle/pipeline/drive/timing"
)

// request is one in flight. It has two halves, the data and the model, and is
// answered when both are done.
type request struct {
	*nbd.Request
	d       *Drive
	done    func(error)
	arrived time.Duration // monotonic
	due     time.Duration // monotonic, when the answer should leave; 0 if untimed
	planned time.Duration // monotonic, when by the model alone; may be before it arrived
	alone   bool          // no other was in the drive when it came
	halves  atomic.Int32
	err     error         // of the data
	cut     atomic.Uint32 // the error number of a request that was cut off
}

// take accounts for q and gives it to the model, if there is one. d.mu is held.
func (d *Drive) take(q *request) {
	d.outstanding++
	d.depth++
	q.alone = d.depth == 1
	q.arrived = monotonic()
	if !q.Received.IsZero() {
		// A drive has the command before the data, and moves those in its own
		// time; that the way through the host takes as well comes not on top.
		q.arrived = max(q.arrived-time.Since(q.Received), d.epoch)
	}
	q.halves.Store(1)
	d.rec.arrived(q, d.depth)
	if d.dead {
		q.err = nbd.ErrIO
		return
	}
	if d.model == nil {
		return
	}
	q.halves.Store(2)
	q.Sent = q.sent
	d.lastID++
	d.waiting[d.lastID] = q
	d.reached = max(d.reached, q.arrived-d.epoch-d.lag())
	if x, ok := d.model.(*disturbed); ok {
		q.err = x.judge(d.reached, q.Request)
	}
	if d.undo != nil {
		// Of a write that fails too: the model takes it for one that does not.
		if err := d.undo.before(d.model, q.Request); q.err == nil {
			q.err = err
		}
	}
	asked := timing.Request{
		ID:      d.lastID,
		Op:      timingOp(q.Op),
		LBA:     q.Offset / timing.SectorSize,
		Sectors: q.Length / timing.SectorSize,
		FUA:     q.FUA,
	}
	if d.tape != nil {
		d.tape(asked)
	}
	d.model.Arrive(d.reached, asked)
	if !d.overdue() {
		d.arm()
	}
}

func timingOp(op nbd.Op) timing.Op {
	switch op {
	case nbd.Read:
		return timing.Read
	case nbd.Flush:
		return timing.Flush
	case nbd.Trim:
		return timing.Trim
	}
	return timing.Write
}

// arm sets the alarm to the model's next event. d.mu is held.
func (d *Drive) arm() {
	due, ok := d.model.Next()
	if !ok {
		return
	}
	if at := d.epoch + due - d.soon(); at != d.armed {
		d.armed = at
		d.alarm.set(at)
	}
}

// overdue says whether an answer should have left by now: a cache's, which takes
// less than the guest to notice it. Who brought the request then sends it, for
// which no other thread has to be woken. d.mu is held.
func (d *Drive) overdue() bool {
	if d.model == nil {
		return false
	}
	due, ok := d.model.Next()
	return ok && d.epoch+due-d.soon() <= monotonic()
}

// ring runs when something is due: on the alarm's thread, or where a request came
// that is.
func (d *Drive) ring() {
	d.mu.Lock()
	if d.model == nil {
		d.mu.Unlock()
		return
	}
	d.armed = 0
	ahead := d.soon()
	d.advance(monotonic() - d.epoch + ahead)
	answers := make([]*request, len(d.batch))
	for i, c := range d.batch {
		q := d.waiting[c.ID]
		delete(d.waiting, c.ID)
		q.planned = d.epoch + c.At - ahead
		q.due = max(q.planned, q.arrived)
		d.rec.served(max(d.epoch+c.Start-q.arrived, 0), c.At-c.Start)
		answers[i] = q
	}
	if x, ok := d.model.(*disturbed); ok && x.cutDue(d.reached) {
		answers = append(answers, d.die()...)
	} else {
		d.arm()
	}
	d.mu.Unlock()
	for _, q := range answers {
		q.half()
	}
}

// advance gathers in batch what is done by the model's time to. It goes from
// event to event and no further: what arrives after the last of them is in
// time, also where the model is ahead of the clock. d.mu is held.
func (d *Drive) advance(to time.Duration) {
	d.batch = d.batch[:0]
	for {
		due, ok := d.model.Next()
		if !ok || due > to {
			return
		}
		d.reached = max(d.reached, due)
		d.batch = append(d.batch, d.model.Advance(d.reached)...)
	}
}

// start begins with the data. It has its own goroutine, so that storage of the
// host that is slow holds up neither the next request nor the alarm; but for a
// request that is alone in the drive, which nobody waits behind and which would
// only wait for another thread.
func (q *request) start() {
	switch {
	case q.Op == nbd.Flush || q.err != nil:
		q.half()
	case q.alone:
		q.err = q.carry()
		q.half()
	default:
		go func() {
			q.err = q.carry()
			q.half()
		}()
	}
}

// carry moves the data.
func (q *request) carry() error {
	switch q.Op {
	case nbd.Read:
		return q.d.content.ReadAt(q.Data, q.Offset)
	case nbd.Write:
		return q.d.content.WriteAt(q.Data, q.Offset)
	case nbd.Trim, nbd.WriteZeroes:
		return q.d.content.Zero(q.Offset, q.Length)
	}
	return nil
}

// half ends one half; with the second the answer leaves.
func (q *request) half() {
	if q.halves.Add(-1) > 0 {
		return
	}
	err := q.err
	if cut := nbd.Errno(q.cut.Load()); err == nil && cut != 0 {
		err = cut
	}
	d := q.d
	d.mu.Lock()
	d.depth-- // now: the next request may come before done returns
	if q.planned > 0 {
		d.behind.Store(int64(monotonic() - q.planned))
	}
	d.rec.answered(q)
	d.mu.Unlock()
	q.done(err)
	d.mu.Lock()
	d.outstanding--
	last := d.outstanding == 0
	d.mu.Unlock()
	if last {
		d.idle.Broadcast()
	}
}

// sent runs when the answer has left.
func (q *request) sent() {
	if q.due > 0 {
		now := monotonic()
		q.d.rec.sent(now - q.due)
		q.d.behind.Store(int64(now - q.planned))
	}
}
