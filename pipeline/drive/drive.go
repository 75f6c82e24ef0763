package drive

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"spindle/internal/fault"
	"spindle/internal/nbd"
	"spindle/pipeline/drive/sparse"
	"spindle/pipeline/drive/timing"
)

// Options are what a run chooses about a drive.
type Options struct {
	// Seed decides what varies within the model.
	Seed uint64
	// Backing is where the content is kept: a file, which stays; a directory,
	// for an unnamed file that vanishes with the process; or "" for memory.
	Backing string
	// Early is how much before its due time an answer leaves; see [Drive.Gauge].
	Early Early
	// Losable keeps what it takes to lose what is not durable; see
	// [Drive.PowerCut]. A drive with a fault of that kind is losable anyway.
	Losable bool
	// Tape is given every request of a timed part as it comes, where it is set,
	// in the order in which the model sees them; it must not wait for anything.
	Tape func(timing.Request)
}

// Drive is a drive at work. It starts untimed.
type Drive struct {
	spec     resolved
	size     int64
	content  *sparse.File
	newModel func() timing.Model // nil for a drive without timing
	early    Early               // see Options
	tape     func(timing.Request)
	behind   atomic.Int64 // see lag
	alarm    *alarm       // nil for a drive without timing
	rec      *recorder

	mu          sync.Mutex
	idle        sync.Cond // outstanding fell to 0, or switching ended
	closed      bool
	switching   bool       // Timed waits; what arrives is held
	held        []*request // in order of arrival
	outstanding int        // taken, and done has not returned
	depth       int        // taken and not answered
	model       timing.Model
	ahead       Early         // how much before they are due the model's answers leave
	reached     time.Duration // the model's time; at most ahead of the clock by that
	epoch       time.Duration // the model's time 0 on the monotonic clock
	armed       time.Duration // when the alarm rings; 0 if it need not
	lastID      uint64
	waiting     map[uint64]*request // those that the model has
	undo        *undo               // nil for a drive that cannot lose anything
	dead        bool                // its power was cut
	hits        []hits              // of faults, before the present model

	batch []timing.Completion // of what is due; used with mu held
}

var _ nbd.Backend = (*Drive)(nil)

// New makes a drive. The error of a bad Spec is a fault of the plan.
func New(s Spec, o Options) (*Drive, error) {
	r, err := s.resolve()
	if err != nil {
		return nil, err
	}
	d := &Drive{spec: r, size: int64(r.Size), early: o.Early, tape: o.Tape, waiting: map[uint64]*request{}, rec: newRecorder()}
	d.idle.L = &d.mu
	if r.timed() {
		if _, err := r.model(o.Seed); err != nil {
			return nil, fmt.Errorf("drive %s: %w", r.Profile, err)
		}
		d.newModel = func() timing.Model {
			m, err := r.model(o.Seed)
			if err != nil {
				panic(err) // it was made before
			}
			return m
		}
	}
	if d.content, err = sparse.Open(o.Backing, d.size); errors.Is(err, unix.EFBIG) {
		e := fault.New(fault.Plan, "", fmt.Errorf("drive %s of %s: %w", r.Profile, r.Size, err))
		e.Hint = "the host's file system has no files that large, ext4 none beyond 16 TiB: present less of the drive, such as size: 8TiB"
		return nil, e
	} else if err != nil {
		return nil, fmt.Errorf("drive %s: %w", r.Profile, err)
	}
	if r.timed() && (o.Losable || r.loses()) {
		d.undo = newUndo(d.content)
	}
	if d.newModel != nil {
		if d.alarm, err = newAlarm(d.ring); err != nil {
			d.content.Close()
			return nil, fmt.Errorf("drive %s: %w", r.Profile, err)
		}
		d.rec.urgency = d.alarm.got
	}
	return d, nil
}

// Size is the size presented, in bytes.
func (d *Drive) Size() int64 { return d.size }

// Export says what the drive offers over NBD.
func (d *Drive) Export() nbd.Options {
	return nbd.Options{
		Flush: true, FUA: true, Trim: true, WriteZeroes: true,
		Rotational: d.spec.Disk != nil,
		// 4 KiB is what file systems use; 512 bytes is what the drive has.
		BlockSize: nbd.BlockSize{Min: timing.SectorSize, Preferred: 4096},
	}
}

// Err gives the first failure of the host's storage under the drive, a fault of
// the machinery, or nil. The guest has seen an I/O error then, through no fault
// of its kernel.
func (d *Drive) Err() error { return d.content.Err() }

// Submit takes a request; see [nbd.Backend].
func (d *Drive) Submit(r *nbd.Request, done func(error)) {
	q := &request{d: d, Request: r, done: done}
	d.mu.Lock()
	switch {
	case d.closed:
		d.mu.Unlock()
		done(nbd.ErrShutdown)
		return
	case d.switching:
		d.held = append(d.held, q)
		d.mu.Unlock()
		return
	}
	d.take(q)
	overdue := d.overdue()
	d.mu.Unlock()
	q.start()
	if overdue {
		d.ring()
	}
}

// Timed turns the model on or off. Off, requests are answered as soon as their
// data is there, for setting up. On, the model starts anew: clean cache, heads
// at cylinder 0, angle 0 at this instant. Requests in flight are answered
// first, by the rule they came under; those that arrive meanwhile wait.
func (d *Drive) Timed(on bool) {
	if on {
		d.change(d.newModel, d.early)
	} else {
		d.change(nil, Early{})
	}
}

// change puts another model in place, or none.
func (d *Drive) change(newModel func() timing.Model, early Early) {
	d.mu.Lock()
	for d.switching && !d.closed {
		d.idle.Wait()
	}
	d.switching = true
	for d.outstanding > 0 && !d.closed {
		d.idle.Wait()
	}
	d.keepHits()
	d.model = nil
	if newModel != nil && !d.closed && !d.dead {
		d.model, d.ahead = newModel(), early
		d.reached, d.epoch = 0, monotonic()
		d.behind.Store(0)
	}
	d.switching = false
	held := d.held
	d.held = nil
	if !d.closed {
		for _, q := range held {
			d.take(q)
		}
	}
	closed := d.closed
	d.mu.Unlock()
	d.idle.Broadcast()
	for _, q := range held {
		if closed {
			q.done(nbd.ErrShutdown)
		} else {
			q.start()
		}
	}
	d.ring()
}

// Close answers what is in flight with an error, and frees everything. Requests
// that come later get an error too.
func (d *Drive) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	var cut []*request
	for id, q := range d.waiting {
		delete(d.waiting, id)
		cut = append(cut, q)
	}
	d.model = nil
	d.mu.Unlock()
	d.idle.Broadcast()
	for _, q := range cut {
		q.cut.Store(uint32(nbd.ErrShutdown))
		q.half()
	}
	d.mu.Lock()
	for d.outstanding > 0 {
		d.idle.Wait()
	}
	d.mu.Unlock()
	if d.alarm != nil {
		if err := d.alarm.close(); err != nil {
			return fmt.Errorf("close drive: %w", err)
		}
	}
	if err := d.content.Close(); err != nil {
		return fmt.Errorf("close drive: %w", err)
	}
	return nil
}
