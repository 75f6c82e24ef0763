package raid

import (
	"slices"

	"spindle/pipeline/drive/dirty"
)

// fill moves waiting writes into the cache as far as there is room.
func (a *Array) fill() {
	for len(a.admit) > 0 {
		c := a.admit[0]
		from, end := c.LBA+c.taken, c.LBA+c.Sectors
		if a.dirty.Run(from) < end { // else it replaces what is there
			end = min(end, from+a.cache-a.dirty.Sectors()-a.landing)
		}
		if end <= from {
			return
		}
		if a.dirty.Sectors() == 0 {
			a.since = a.now
		}
		a.dirty.Write(from, end, 0, a.now)
		c.taken = end - c.LBA
		if c.taken < c.Sectors {
			return
		}
		a.admit = a.admit[1:]
		a.complete(c, c.link)
	}
}

// held is how far from lba on the cache has everything.
func (a *Array) held(lba int64) int64 {
	for {
		to := a.dirty.Run(lba)
		for _, j := range a.flying {
			if j.lba <= to && to < j.lba+j.n {
				to = j.lba + j.n
			}
		}
		if to == lba {
			return to
		}
		lba = to
	}
}

// destage starts writing what is dirty, as much as members may have of it.
func (a *Array) destage() {
	for a.dirty.Sectors() > 0 {
		if !a.draining {
			half := a.dirty.Sectors() >= a.cache/2
			old := a.now-a.since >= a.c.Destage.Interval.Std()
			if !half && !old && len(a.admit) == 0 {
				return
			}
			a.draining = true
		}
		if !a.next() {
			return
		}
	}
	a.draining = false
}

// next destages one chunk, or one row where there is parity: the first at or
// after the last one, round the end (C-LOOK), whose member is not busy with its
// share. It reports whether there was one.
func (a *Array) next() bool {
	seen := 0
	look := func(from, to int64) bool {
		for p := a.dirty.Find(from); seen < a.c.Destage.Window; p = a.dirty.After(p) {
			e := a.dirty.At(p)
			if e == nil || e.Start >= to {
				return false
			}
			seen++
			if a.take(max(e.Start, from)) {
				return true
			}
		}
		return false
	}
	at := a.position
	return look(at, a.sectors) || look(0, at)
}

// take destages what is dirty in the chunk or row of lba, from there on, if its
// members are free.
func (a *Array) take(lba int64) bool {
	parity := a.level.parities() > 0
	first, last := lba, (lba/a.unit+1)*a.unit
	if parity {
		first = lba / a.rowSize() * a.rowSize()
		last = first + a.rowSize()
	} else {
		last = min(last, a.dirty.Run(lba))
	}
	var pieces []piece
	for p := a.dirty.Find(first); ; p = a.dirty.After(p) {
		e := a.dirty.At(p)
		if e == nil || e.Start >= last {
			break
		}
		from, to := max(e.Start, first), min(e.End, last)
		for _, x := range a.split(from, to-from) {
			// Extents that touch are one piece.
			if n := len(pieces); n > 0 && pieces[n-1].index == x.index && pieces[n-1].end() == x.offset {
				pieces[n-1].n += x.n
			} else {
				pieces = append(pieces, x)
			}
		}
	}
	j := &job{row: -1, lba: first, n: last - first}
	for _, p := range pieces {
		for _, m := range a.homes(p.row, p.index) {
			if a.members[m].destaging >= a.c.Destage.PerMember {
				return false
			}
			j.homes = append(j.homes, m)
		}
	}
	slices.Sort(j.homes)
	j.homes = slices.Compact(j.homes)
	for _, m := range j.homes {
		a.members[m].destaging++
	}
	if parity {
		j.row = pieces[0].row
		// What a read may take from the cache meanwhile is told by the
		// unbroken part alone.
		j.lba = a.layout.lba(pieces[0])
		j.n = pieces[0].n
	}
	a.dirty.Remove(first, last, func(e dirty.Extent) { j.sectors += e.End - e.Start })
	a.landing += j.sectors
	j.phases = a.writes(pieces, false)
	a.flying = append(a.flying, j)
	a.position = last
	a.lock(j)
	return true
}

// landed ends the destaging of j.
func (a *Array) landed(j *job) {
	a.flying = slices.DeleteFunc(a.flying, func(x *job) bool { return x == j })
	a.landing -= j.sectors
	for _, m := range j.homes {
		a.members[m].destaging--
	}
	a.fill()
}
