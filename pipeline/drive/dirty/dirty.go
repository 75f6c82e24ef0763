// Package dirty keeps account of what a write-back cache holds and the media
// does not: which sectors, since when, and which flush has to wait for them.
//
// It promises that a set with 10^5 stretches, a controller's, costs little more
// per write than one with 10^3, a disk's. It holds no data.
package dirty

import (
	"slices"
	"sort"
	"time"
)

// Extent is a stretch of sectors that the cache holds and the media does not.
type Extent struct {
	Start, End int64
	Epoch      uint64        // flushes that had arrived before it
	Born       time.Duration // when its oldest sector was written
}

// Set is a set of extents in order of address. They do not overlap; those that
// touch are one if they are of one epoch. The zero Set is empty.
type Set struct {
	chunks  [][]Extent       // none is empty
	sectors int64            // sum
	epochs  map[uint64]int64 // sectors of each epoch, none 0
}

// Sectors is how many sectors are in the set.
func (s *Set) Sectors() int64 { return s.sectors }

const chunkMax = 256

// Spot is a position in a set. It holds until the set changes.
type Spot struct{ chunk, i int }

// Find gives the first extent that ends after lba.
func (s *Set) Find(lba int64) Spot {
	c := sort.Search(len(s.chunks), func(i int) bool { return s.chunks[i][len(s.chunks[i])-1].End > lba })
	if c == len(s.chunks) {
		return Spot{c, 0}
	}
	chunk := s.chunks[c]
	return Spot{c, sort.Search(len(chunk), func(i int) bool { return chunk[i].End > lba })}
}

// At gives the extent at p; nil at the end.
func (s *Set) At(p Spot) *Extent {
	if p.chunk >= len(s.chunks) {
		return nil
	}
	return &s.chunks[p.chunk][p.i]
}

// After is the position behind p, which must not be the end.
func (s *Set) After(p Spot) Spot {
	if p.i++; p.i == len(s.chunks[p.chunk]) {
		return Spot{p.chunk + 1, 0}
	}
	return p
}

// count keeps the sums.
func (s *Set) count(epoch uint64, sectors int64) {
	if s.epochs == nil {
		s.epochs = map[uint64]int64{}
	}
	s.sectors += sectors
	if s.epochs[epoch] += sectors; s.epochs[epoch] == 0 {
		delete(s.epochs, epoch)
	}
}

// UpTo is how many sectors are of that epoch or an earlier one.
func (s *Set) UpTo(epoch uint64) int64 {
	var n int64
	for e, sectors := range s.epochs {
		if e <= epoch {
			n += sectors
		}
	}
	return n
}

// Write puts [start, end) in. Sectors that were there keep their epoch and
// age: whoever waits for them is served by the new content too, and only by it.
func (s *Set) Write(start, end int64, epoch uint64, now time.Duration) {
	var old []Extent
	s.Remove(start, end, func(e Extent) { old = append(old, e) })
	for _, e := range old {
		s.put(Extent{start, e.Start, epoch, now})
		s.put(e)
		start = e.End
	}
	s.put(Extent{start, end, epoch, now})
}

// put adds an extent that overlaps none.
func (s *Set) put(e Extent) {
	if e.Start >= e.End {
		return
	}
	s.count(e.Epoch, e.End-e.Start)
	if p := s.Find(e.Start - 1); p.chunk < len(s.chunks) {
		if before := s.At(p); before.End == e.Start && before.Epoch == e.Epoch {
			e.Start, e.Born = before.Start, min(e.Born, before.Born)
			s.drop(p)
		}
	}
	p := s.Find(e.Start)
	if next := s.At(p); next != nil && next.Start == e.End && next.Epoch == e.Epoch {
		next.Start, next.Born = e.Start, min(e.Born, next.Born)
		return
	}
	s.insert(p, e)
}

func (s *Set) insert(p Spot, e Extent) {
	if p.chunk == len(s.chunks) {
		if p.chunk == 0 {
			s.chunks = [][]Extent{{e}}
			return
		}
		p.chunk--
		p.i = len(s.chunks[p.chunk])
	}
	c := slices.Insert(s.chunks[p.chunk], p.i, e)
	s.chunks[p.chunk] = c
	if len(c) > chunkMax {
		half := len(c) / 2
		s.chunks = slices.Insert(s.chunks, p.chunk+1, slices.Clone(c[half:]))
		s.chunks[p.chunk] = c[:half:half]
	}
}

func (s *Set) drop(p Spot) {
	c := slices.Delete(s.chunks[p.chunk], p.i, p.i+1)
	if len(c) == 0 {
		s.chunks = slices.Delete(s.chunks, p.chunk, p.chunk+1)
		return
	}
	s.chunks[p.chunk] = c
}

// Remove takes [start, end) out and shows each piece that was there, in order.
func (s *Set) Remove(start, end int64, taken func(Extent)) {
	for {
		p := s.Find(start)
		e := s.At(p)
		if e == nil || e.Start >= end {
			return
		}
		whole := *e
		piece := whole
		piece.Start, piece.End = max(piece.Start, start), min(piece.End, end)
		s.count(piece.Epoch, piece.Start-piece.End)
		if taken != nil {
			taken(piece)
		}
		switch {
		case whole.Start < start && whole.End > end:
			e.End = start
			s.insert(s.Find(start), Extent{end, whole.End, whole.Epoch, whole.Born})
			return
		case whole.Start < start:
			e.End = start
		case whole.End > end:
			e.Start = end
			return
		default:
			s.drop(p)
		}
	}
}

// Run is where the unbroken stretch of extents that contains lba ends; lba
// itself where there is none.
func (s *Set) Run(lba int64) int64 {
	for p := s.Find(lba); ; p = s.After(p) {
		e := s.At(p)
		if e == nil || e.Start > lba {
			return lba
		}
		lba = e.End
	}
}

// Oldest gives the extent that has waited longest.
func (s *Set) Oldest() (e Extent, ok bool) {
	for _, c := range s.chunks {
		for _, x := range c {
			if !ok || x.Born < e.Born {
				e, ok = x, true
			}
		}
	}
	return e, ok
}
