package drive

import (
	"slices"
	"time"

	"spindle/internal/nbd"
	"spindle/pipeline/drive/timing"
)

// disturbed is a model that does not always answer in time: spikes, stalls, and
// a time at which somebody wants to be called.
type disturbed struct {
	inner  timing.Model
	faults []Fault
	hit    []hits // one per fault

	now    time.Duration
	count  int64 // requests
	writes int64 // that did not fail
	extra  map[uint64]time.Duration
	done   []timing.Completion // in order of At
	out    []timing.Completion
	calls  []time.Duration // at which something outside happens, in order
}

// hits counts what a fault did.
type hits struct {
	n     int64
	first time.Duration
}

func (h *hits) add(at time.Duration) {
	if h.n++; h.n == 1 {
		h.first = at
	}
}

// newDisturbed wraps inner if there are faults; else it is nil.
func newDisturbed(inner timing.Model, faults []Fault) *disturbed {
	if len(faults) == 0 {
		return nil
	}
	d := &disturbed{inner: inner, faults: faults, hit: make([]hits, len(faults)), extra: map[uint64]time.Duration{}}
	for _, f := range faults {
		if f.PowerCut != nil {
			d.calls = append(d.calls, f.PowerCut.At.Std())
		}
	}
	slices.Sort(d.calls)
	return d
}

// Arrive takes a request; see [timing.Model].
func (d *disturbed) Arrive(now time.Duration, r timing.Request) {
	d.run(now)
	d.count++
	for i, f := range d.faults {
		s := f.Spike
		if s == nil || s.Every > 0 && d.count%s.Every != 0 || s.At > 0 && (now < s.At.Std() || d.hit[i].n > 0) {
			continue
		}
		d.hit[i].add(now)
		d.extra[r.ID] += s.Delay.Std()
	}
	d.inner.Arrive(now, r)
}

// Next is when something happens next.
func (d *disturbed) Next() (due time.Duration, ok bool) {
	if len(d.out) > 0 {
		return d.now, true
	}
	return d.event()
}

func (d *disturbed) event() (due time.Duration, ok bool) {
	due, ok = d.inner.Next()
	if len(d.done) > 0 && (!ok || d.done[0].At < due) {
		due, ok = d.done[0].At, true
	}
	if len(d.calls) > 0 && (!ok || d.calls[0] < due) {
		due, ok = d.calls[0], true
	}
	return due, ok
}

// Advance moves to the time now; see [timing.Model].
func (d *disturbed) Advance(now time.Duration) []timing.Completion {
	d.run(now)
	out := d.out
	d.out = nil
	return out
}

// Volatile is what the drive would lose; see [timing.Cache].
func (d *disturbed) Volatile(from, to int64) []timing.Extent {
	if c, ok := d.inner.(timing.Cache); ok {
		return c.Volatile(from, to)
	}
	return nil
}

func (d *disturbed) run(now time.Duration) {
	timing.Run(&d.now, now, d.event, d.step)
}

func (d *disturbed) step() {
	for _, c := range d.inner.Advance(d.now) {
		c.At += d.extra[c.ID]
		delete(d.extra, c.ID)
		for i, f := range d.faults {
			if s := f.Stall; s != nil && c.At >= s.At.Std() && c.At < (s.At+s.For).Std() {
				d.hit[i].add(c.At)
				c.At = (s.At + s.For).Std()
			}
		}
		i, _ := slices.BinarySearchFunc(d.done, c, func(a, b timing.Completion) int {
			if a.At <= b.At {
				return -1
			}
			return 1
		})
		d.done = slices.Insert(d.done, i, c)
	}
	for len(d.done) > 0 && d.done[0].At <= d.now {
		d.out = append(d.out, d.done[0])
		d.done = d.done[1:]
	}
	for len(d.calls) > 0 && d.calls[0] <= d.now {
		d.calls = d.calls[1:]
	}
}

// judge says how a request that arrives now fails; nil for one that does not.
func (d *disturbed) judge(now time.Duration, r *nbd.Request) error {
	writes := r.Op == nbd.Write || r.Op == nbd.WriteZeroes || r.Op == nbd.Trim
	var err error
	for i, f := range d.faults {
		switch e := f.EIO; {
		case e != nil && (writes && e.On != "read" || r.Op == nbd.Read && e.On != "write") &&
			r.Offset < int64(e.From+e.Length) && int64(e.From) < r.Offset+r.Length:
			d.hit[i].add(now)
			err = nbd.ErrIO
		case f.ReadOnly != nil && writes && d.writes >= f.ReadOnly.AfterWrites:
			d.hit[i].add(now)
			if err == nil {
				err = nbd.ErrPerm
			}
		}
	}
	if writes && err == nil {
		d.writes++
	}
	return err
}

// cutDue says whether the power is to go now, and counts it.
func (d *disturbed) cutDue(now time.Duration) bool {
	for i, f := range d.faults {
		if f.PowerCut != nil && d.hit[i].n == 0 && now >= f.PowerCut.At.Std() {
			d.hit[i].add(now)
			return true
		}
	}
	return false
}
