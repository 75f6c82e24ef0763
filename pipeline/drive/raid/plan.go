package raid

import (
	"slices"

	"spindle/pipeline/drive/timing"
)

// job is work on members in phases: each begins when the one before is done.
type job struct {
	command *command // nil for destaging
	phases  [][]sub
	left    int   // subs of the first phase that are not done
	row     int64 // locked meanwhile; -1 for none
	sectors int64 // of the cache that are free again at its end
	homes   []int // members whose share of destaging it takes
	lba, n  int64 // of the array, for destaging
}

// sub is a request to one member.
type sub struct {
	member int
	timing.Request
}

// reads gives the one phase of a read. Pieces that follow each other on a
// member are one request.
func (a *Array) reads(lba, n int64) [][]sub {
	var subs []sub
	for _, p := range a.split(lba, n) {
		subs = join(subs, sub{a.least(a.homes(p.row, p.index), a.at(p)), timing.Request{Op: timing.Read, LBA: a.at(p), Sectors: p.n}})
	}
	return [][]sub{subs}
}

// join adds s to the last request of its member where it goes on there.
func join(subs []sub, s sub) []sub {
	for i, x := range slices.Backward(subs) {
		if x.member == s.member {
			if x.LBA+x.Sectors == s.LBA && x.Op == s.Op {
				subs[i].Sectors += s.Sectors
				return subs
			}
			break
		}
	}
	return append(subs, s)
}

// least picks of several mirrors the one with least to do, and of those the one
// whose last request was nearest.
func (a *Array) least(homes []int, lba int64) int {
	best := homes[0]
	key := func(i int) (load int, distance int64) {
		m := &a.members[i]
		distance = m.last - lba
		return m.busy + len(m.waiting), max(distance, -distance)
	}
	for _, i := range homes[1:] {
		load, distance := key(i)
		if l, d := key(best); load < l || load == l && distance < d {
			best = i
		}
	}
	return best
}

// writes gives the phases of writing pieces, which are of one row if there is
// parity.
func (a *Array) writes(pieces []piece, fua bool) [][]sub {
	write := func(member int, lba, n int64) sub {
		return sub{member, timing.Request{Op: timing.Write, LBA: lba, Sectors: n, FUA: fua}}
	}
	var subs []sub
	for _, p := range pieces {
		for _, m := range a.homes(p.row, p.index) {
			subs = join(subs, write(m, a.at(p), p.n))
		}
	}
	parity := a.parity(pieces[0].row)
	if len(parity) == 0 {
		return [][]sub{subs}
	}
	row := pieces[0].row
	from, to := pieces[0].offset, pieces[0].end()
	for _, p := range pieces {
		from, to = min(from, p.offset), max(to, p.end())
	}
	at, n := a.at(piece{row: row, offset: from}), to-from
	for _, m := range parity {
		subs = append(subs, write(m, at, n))
	}
	if before := a.before(pieces, parity, from, to); len(before) > 0 {
		return [][]sub{before, subs}
	}
	return [][]sub{subs}
}

// before is what must be read so that the parity of [from, to) of each chunk of
// a row can be computed: what the pieces replace, and the parity; or what they
// leave alone, where that is less.
func (a *Array) before(pieces []piece, parity []int, from, to int64) []sub {
	row := pieces[0].row
	read := func(member int, offset, n int64) sub {
		return sub{member, timing.Request{Op: timing.Read, LBA: a.at(piece{row: row, offset: offset}), Sectors: n}}
	}
	var rest, old []sub
	for i := range int(a.data()) {
		whole := false
		for _, p := range pieces {
			whole = whole || p.index == i && p.offset == from && p.end() == to
		}
		if !whole {
			rest = append(rest, read(a.homes(row, i)[0], from, to-from))
		}
	}
	for _, p := range pieces {
		old = append(old, read(a.homes(row, p.index)[0], p.offset, p.n))
	}
	for _, m := range parity {
		old = append(old, read(m, from, to-from))
	}
	if len(rest) < len(old) {
		return rest
	}
	return old
}
