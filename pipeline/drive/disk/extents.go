package disk

import (
	"slices"
	"sort"
	"time"
)

// extent is a stretch of sectors that the cache holds and the media does not.
type extent struct {
	start, end int64
	epoch      uint64        // flushes that had arrived before it
	born       time.Duration // when its oldest sector was written
}

// extents is a set of extents in order of address. They do not overlap; those
// that touch are one if they are of one epoch. It is kept in chunks, so that a
// controller's cache with 10^5 extents costs no more per write than a disk's.
type extents struct {
	chunks  [][]extent       // none is empty
	sectors int64            // sum
	epochs  map[uint64]int64 // sectors of each epoch, none 0
}

const chunkMax = 256

// spot is a position in extents; chunk == len(chunks) is the end.
type spot struct{ chunk, i int }

// find gives the first extent that ends after lba.
func (s *extents) find(lba int64) spot {
	c := sort.Search(len(s.chunks), func(i int) bool { return s.chunks[i][len(s.chunks[i])-1].end > lba })
	if c == len(s.chunks) {
		return spot{c, 0}
	}
	chunk := s.chunks[c]
	return spot{c, sort.Search(len(chunk), func(i int) bool { return chunk[i].end > lba })}
}

func (s *extents) at(p spot) *extent {
	if p.chunk >= len(s.chunks) {
		return nil
	}
	return &s.chunks[p.chunk][p.i]
}

func (s *extents) after(p spot) spot {
	if p.i++; p.i == len(s.chunks[p.chunk]) {
		return spot{p.chunk + 1, 0}
	}
	return p
}

// count keeps the sums.
func (s *extents) count(epoch uint64, sectors int64) {
	if s.epochs == nil {
		s.epochs = map[uint64]int64{}
	}
	s.sectors += sectors
	if s.epochs[epoch] += sectors; s.epochs[epoch] == 0 {
		delete(s.epochs, epoch)
	}
}

// upTo is how many sectors are of that epoch or an earlier one.
func (s *extents) upTo(epoch uint64) int64 {
	var n int64
	for e, sectors := range s.epochs {
		if e <= epoch {
			n += sectors
		}
	}
	return n
}

// write puts [start, end) in. Sectors that were there keep their epoch and
// age: whoever waits for them is served by the new content too, and only by it.
func (s *extents) write(start, end int64, epoch uint64, now time.Duration) {
	var old []extent
	s.remove(start, end, func(e extent) { old = append(old, e) })
	for _, e := range old {
		s.put(extent{start, e.start, epoch, now})
		s.put(e)
		start = e.end
	}
	s.put(extent{start, end, epoch, now})
}

// put adds an extent that overlaps none.
func (s *extents) put(e extent) {
	if e.start >= e.end {
		return
	}
	s.count(e.epoch, e.end-e.start)
	if p := s.find(e.start - 1); p.chunk < len(s.chunks) {
		if before := s.at(p); before.end == e.start && before.epoch == e.epoch {
			e.start, e.born = before.start, min(e.born, before.born)
			s.drop(p)
		}
	}
	p := s.find(e.start)
	if next := s.at(p); next != nil && next.start == e.end && next.epoch == e.epoch {
		next.start, next.born = e.start, min(e.born, next.born)
		return
	}
	s.insert(p, e)
}

func (s *extents) insert(p spot, e extent) {
	if p.chunk == len(s.chunks) {
		if p.chunk == 0 {
			s.chunks = [][]extent{{e}}
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

func (s *extents) drop(p spot) {
	c := slices.Delete(s.chunks[p.chunk], p.i, p.i+1)
	if len(c) == 0 {
		s.chunks = slices.Delete(s.chunks, p.chunk, p.chunk+1)
		return
	}
	s.chunks[p.chunk] = c
}

// remove takes [start, end) out and shows each piece that was there, in order.
func (s *extents) remove(start, end int64, taken func(extent)) {
	for {
		p := s.find(start)
		e := s.at(p)
		if e == nil || e.start >= end {
			return
		}
		whole := *e
		piece := whole
		piece.start, piece.end = max(piece.start, start), min(piece.end, end)
		s.count(piece.epoch, piece.start-piece.end)
		if taken != nil {
			taken(piece)
		}
		switch {
		case whole.start < start && whole.end > end:
			e.end = start
			s.insert(s.find(start), extent{end, whole.end, whole.epoch, whole.born})
			return
		case whole.start < start:
			e.end = start
		case whole.end > end:
			e.start = end
			return
		default:
			s.drop(p)
		}
	}
}

// run is where the unbroken stretch of extents that contains lba ends; lba
// itself where there is none.
func (s *extents) run(lba int64) int64 {
	for p := s.find(lba); ; p = s.after(p) {
		e := s.at(p)
		if e == nil || e.start > lba {
			return lba
		}
		lba = e.end
	}
}

// oldest gives the extent that has waited longest.
func (s *extents) oldest() (e extent, ok bool) {
	for _, c := range s.chunks {
		for _, x := range c {
			if !ok || x.born < e.born {
				e, ok = x, true
			}
		}
	}
	return e, ok
}
