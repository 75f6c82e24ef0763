package drive

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"spindle/internal/nbd"
	"spindle/internal/unit"
	"spindle/pipeline/drive/sparse"
	"spindle/pipeline/drive/timing"
)

// PowerCut takes the drive's power away at this instant: what only a volatile
// cache holds is lost, requests in flight and all later ones fail. It gives what
// was lost: stretches of sectors, which have now the content that was on the
// media. What the media was taking at that instant counts as taken.
//
// The drive must be timed and have been made with [Options.Losable].
func (d *Drive) PowerCut() ([]timing.Extent, error) {
	d.mu.Lock()
	switch {
	case d.closed:
		d.mu.Unlock()
		return nil, errors.New("cut power: the drive is closed")
	case d.undo == nil:
		d.mu.Unlock()
		return nil, errors.New("cut power: the drive was not made to lose anything")
	case d.dead || d.model == nil:
		d.mu.Unlock()
		return nil, errors.New("cut power: the drive is not timed")
	}
	d.reached = max(d.reached, monotonic()-d.epoch)
	// What is done, but not answered yet, fails with the rest.
	d.model.Advance(d.reached)
	answers := d.die()
	lost := slices.Clone(d.undo.lost)
	d.mu.Unlock()
	for _, q := range answers {
		q.half()
	}
	return lost, d.Err()
}

// die cuts the power. d.mu is held. It gives the requests that were in the
// model, whose second half the caller must end.
func (d *Drive) die() []*request {
	d.dead = true
	if d.undo != nil {
		d.undo.lose(d.model, d.size)
	}
	d.keepHits()
	d.model = nil
	var all []*request
	for id, q := range d.waiting {
		delete(d.waiting, id)
		q.cut.Store(uint32(nbd.ErrIO))
		all = append(all, q)
	}
	slices.SortFunc(all, func(a, b *request) int { return int(a.arrived - b.arrived) })
	return all
}

// FaultSeen is what one fault of a drive has done since the drive was made.
type FaultSeen struct {
	Fault Fault
	Count int64         // requests that it slowed or failed; 1 for a power cut
	First time.Duration // when the first was, from the start of timing; 0 if there was none
}

// Faults gives what the faults of the Spec have done, in its order.
func (d *Drive) Faults() []FaultSeen {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []FaultSeen
	for i, f := range d.spec.Faults {
		s := FaultSeen{Fault: f}
		for _, h := range []hits{d.hit(i), d.past(i)} {
			if h.n > 0 {
				s.Count, s.First = s.Count+h.n, h.first
			}
		}
		out = append(out, s)
	}
	return out
}

// Lost gives how many bytes a power cut has taken.
func (d *Drive) Lost() unit.Size {
	d.mu.Lock()
	defer d.mu.Unlock()
	var n unit.Size
	if d.undo != nil {
		for _, e := range d.undo.lost {
			n += unit.Size(e.Sectors * timing.SectorSize)
		}
	}
	return n
}

// hit is what fault i did under the present model. d.mu is held.
func (d *Drive) hit(i int) hits {
	if x, ok := d.model.(*disturbed); ok {
		return x.hit[i]
	}
	return hits{}
}

// past is what it did before.
func (d *Drive) past(i int) hits {
	if i < len(d.hits) {
		return d.hits[i]
	}
	return hits{}
}

// keepHits adds what the present model counts before it goes. d.mu is held.
func (d *Drive) keepHits() {
	x, ok := d.model.(*disturbed)
	if !ok {
		return
	}
	if d.hits == nil {
		d.hits = make([]hits, len(x.hit))
	}
	for i, h := range x.hit {
		if d.hits[i].n == 0 {
			d.hits[i].first = h.first
		}
		d.hits[i].n += h.n
	}
}

// loses says whether a fault takes the power.
func (r resolved) loses() bool {
	return slices.ContainsFunc(r.Faults, func(f Fault) bool { return f.PowerCut != nil })
}

// undo keeps, of every sector that the host has written and that is not on the
// media yet, the content that is.
//
// The drive's content is written when a request arrives, so what is to be found
// after a loss of power is the older content. A sector that is dirty already
// keeps the one kept for it; of any other the present one is kept, even where it
// was acknowledged just now: it is on the media, or on its way.
type undo struct {
	content *sparse.File
	old     map[int64][]byte // by sector
	lost    []timing.Extent
}

// maxKept is how many sectors may be kept before those are dropped that have
// reached the media: 128 MiB of them.
const maxKept = 256 << 10

func newUndo(content *sparse.File) *undo {
	return &undo{content: content, old: map[int64][]byte{}}
}

// before is called when a write arrives, before its data is stored.
func (u *undo) before(m timing.Model, r *nbd.Request) error {
	if r.Op != nbd.Write && r.Op != nbd.WriteZeroes {
		return nil
	}
	cache, ok := m.(timing.Cache)
	if !ok {
		return nil
	}
	first, last := r.Offset/timing.SectorSize, (r.Offset+r.Length)/timing.SectorSize
	held := map[int64]bool{}
	for _, e := range cache.Volatile(first, last) {
		for lba := e.LBA; lba < e.LBA+e.Sectors; lba++ {
			held[lba] = true
		}
	}
	for lba := first; lba < last; lba++ {
		if held[lba] && u.old[lba] != nil {
			continue
		}
		sector := make([]byte, timing.SectorSize)
		if err := u.content.ReadAt(sector, lba*timing.SectorSize); err != nil {
			return err
		}
		u.old[lba] = sector
	}
	if len(u.old) > maxKept {
		u.prune(cache)
	}
	return nil
}

// prune forgets what is of no use any more.
func (u *undo) prune(cache timing.Cache) {
	kept := map[int64][]byte{}
	for _, e := range cache.Volatile(0, 1<<62) {
		for lba := e.LBA; lba < e.LBA+e.Sectors; lba++ {
			if old := u.old[lba]; old != nil {
				kept[lba] = old
			}
		}
	}
	u.old = kept
}

// lose puts the content of the media back where the cache had another.
func (u *undo) lose(m timing.Model, size int64) {
	cache, ok := m.(timing.Cache)
	if !ok {
		return
	}
	for _, e := range cache.Volatile(0, size/timing.SectorSize) {
		for lba := e.LBA; lba < e.LBA+e.Sectors; lba++ {
			if old := u.old[lba]; old != nil {
				// A failure is kept by the content, and seen in Drive.Err.
				u.content.WriteAt(old, lba*timing.SectorSize)
			}
		}
		u.lost = append(u.lost, e)
	}
}

// String is for messages about a loss.
func (s FaultSeen) String() string {
	if s.Count == 0 {
		return fmt.Sprintf("%s (did not happen)", s.Fault)
	}
	return fmt.Sprintf("%s (%d times, first at %v)", s.Fault, s.Count, s.First.Round(time.Millisecond))
}
