package raid

import (
	"fmt"
	"slices"
)

// Level is the RAID level: "0", "1", "5", "6" or "10".
type Level string

const (
	Stripe       Level = "0"
	Mirror       Level = "1"
	Parity       Level = "5"
	DoubleParity Level = "6"
	StripeMirror Level = "10"
)

// Levels lists what there is.
func Levels() []Level { return []Level{Stripe, Mirror, Parity, DoubleParity, StripeMirror} }

// Check says whether an array of that level can have n members.
func (l Level) Check(n int) error {
	switch {
	case !slices.Contains(Levels(), l):
		return fmt.Errorf("not one of 0, 1, 5, 6, 10")
	case l == StripeMirror && n%2 != 0:
		return fmt.Errorf("takes an even number of members, not %d", n)
	case n < l.least():
		return fmt.Errorf("takes at least %d members, not %d", l.least(), n)
	}
	return nil
}

func (l Level) least() int {
	switch l {
	case Parity:
		return 3
	case DoubleParity, StripeMirror:
		return 4
	}
	return 2
}

// Data is how many of n members' worth of data an array holds.
func (l Level) Data(n int) int {
	switch l {
	case Mirror:
		return 1
	case Parity:
		return n - 1
	case DoubleParity:
		return n - 2
	case StripeMirror:
		return n / 2
	}
	return n
}

// parities is how many chunks of a row are parity.
func (l Level) parities() int {
	switch l {
	case Parity:
		return 1
	case DoubleParity:
		return 2
	}
	return 0
}

// layout maps the array's addresses to members. The array is rows of chunks,
// one chunk of the stripe unit on each member.
type layout struct {
	level   Level
	members int
	unit    int64 // sectors of a chunk
}

// piece is a stretch of the array within one chunk.
type piece struct {
	row    int64
	index  int   // which of the row's data chunks
	offset int64 // sectors into the chunk
	n      int64
}

func (l layout) data() int64       { return int64(l.level.Data(l.members)) }
func (l layout) rowSize() int64    { return l.data() * l.unit }
func (p piece) end() int64         { return p.offset + p.n }
func (l layout) lba(p piece) int64 { return p.row*l.rowSize() + int64(p.index)*l.unit + p.offset }

// at is the place of p on its members.
func (l layout) at(p piece) int64 { return p.row*l.unit + p.offset }

// split cuts a stretch of the array at the ends of chunks.
func (l layout) split(lba, n int64) []piece {
	var out []piece
	for n > 0 {
		chunk := lba / l.unit
		p := piece{row: chunk / l.data(), index: int(chunk % l.data()), offset: lba % l.unit}
		p.n = min(n, l.unit-p.offset)
		out = append(out, p)
		lba, n = lba+p.n, n-p.n
	}
	return out
}

// homes gives the members that hold a data chunk: more than one for mirrors.
func (l layout) homes(row int64, index int) []int {
	switch l.level {
	case Mirror:
		all := make([]int, l.members)
		for i := range all {
			all[i] = i
		}
		return all
	case StripeMirror:
		return []int{2 * index, 2*index + 1}
	case Parity, DoubleParity:
		return []int{(l.parity(row)[0] + l.level.parities() + index) % l.members}
	}
	return []int{index}
}

// parity gives the members that hold the row's parity, which moves one member
// to the left with every row. Data begins behind it (left-symmetric).
func (l layout) parity(row int64) []int {
	p := l.members - 1 - int(row%int64(l.members))
	switch l.level {
	case Parity:
		return []int{p}
	case DoubleParity:
		return []int{p, (p + 1) % l.members}
	}
	return nil
}

// back gives the array's address of a member's sector; ok is false for parity.
func (l layout) back(member int, lba int64) (at int64, ok bool) {
	row := lba / l.unit
	for i := range int(l.data()) {
		if slices.Contains(l.homes(row, i), member) {
			return l.lba(piece{row: row, index: i, offset: lba % l.unit}), true
		}
	}
	return 0, false
}

// rows groups pieces, which are in order, by row.
func rows(pieces []piece) [][]piece {
	var out [][]piece
	for i, p := range pieces {
		if i == 0 || p.row != pieces[i-1].row {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], p)
	}
	return out
}
