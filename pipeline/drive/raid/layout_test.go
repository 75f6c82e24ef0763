package raid

import (
	"fmt"
	"slices"
	"testing"
)

// Every sector of the array has its own place on each of its homes, parity is
// on the members that are left, and the way back is the same.
func TestLayout(t *testing.T) {
	for _, tt := range []struct {
		level   Level
		members int
		copies  int
		parity  int
	}{{Stripe, 2, 1, 0}, {Stripe, 12, 1, 0}, {Mirror, 2, 2, 0}, {Mirror, 3, 3, 0}, {StripeMirror, 6, 2, 0}, {Parity, 3, 1, 1}, {Parity, 5, 1, 1}, {DoubleParity, 4, 1, 2}, {DoubleParity, 7, 1, 2}} {
		l := layout{tt.level, tt.members, 8}
		taken := map[string]int64{}
		count := make([]int, tt.members) // of parity chunks
		const rows = 84
		for lba := range int64(rows) * l.rowSize() {
			p := l.split(lba, 1)
			if len(p) != 1 || l.lba(p[0]) != lba {
				t.Fatalf("%+v: sector %d is %+v, which is %d", tt, lba, p, l.lba(p[0]))
			}
			homes := l.homes(p[0].row, p[0].index)
			if len(homes) != tt.copies {
				t.Fatalf("%+v: %d copies, want %d", tt, len(homes), tt.copies)
			}
			for _, m := range homes {
				place := fmt.Sprint(m, "/", l.at(p[0]))
				if other, ok := taken[place]; ok {
					t.Fatalf("%+v: sectors %d and %d are both at %s", tt, other, lba, place)
				}
				taken[place] = lba
				if at, ok := l.back(m, l.at(p[0])); !ok || at != lba {
					t.Fatalf("%+v: %s is sector %d, found %d %v", tt, place, lba, at, ok)
				}
				if slices.Contains(l.parity(p[0].row), m) {
					t.Fatalf("%+v: sector %d is on a parity member", tt, lba)
				}
			}
		}
		for row := range int64(rows) {
			if len(l.parity(row)) != tt.parity {
				t.Fatalf("%+v: %d parities, want %d", tt, len(l.parity(row)), tt.parity)
			}
			for _, m := range l.parity(row) {
				count[m]++
				if _, ok := l.back(m, row*l.unit); ok {
					t.Errorf("%+v: parity of row %d holds data", tt, row)
				}
			}
		}
		for m, n := range count {
			if want := rows * tt.parity / tt.members; n < want-1 || n > want+1 {
				t.Errorf("%+v: member %d has parity of %d rows, want %d", tt, m, n, want)
			}
		}
		if want := rows * int64(tt.members*8); int64(len(taken))+rows*int64(tt.parity)*8 != want {
			t.Errorf("%+v: %d places used, want %d", tt, len(taken), want)
		}
	}
}

// Two rows of five members as Linux's md calls it left-symmetric: parity moves
// left, data begins behind it.
func TestLeftSymmetric(t *testing.T) {
	l := layout{Parity, 5, 8}
	for row, want := range [][]int{{0, 1, 2, 3, 4}, {4, 0, 1, 2, 3}, {3, 4, 0, 1, 2}} {
		got := []int{l.homes(int64(row), 0)[0], l.homes(int64(row), 1)[0], l.homes(int64(row), 2)[0], l.homes(int64(row), 3)[0], l.parity(int64(row))[0]}
		if !slices.Equal(got, want) {
			t.Errorf("row %d: data and parity on %v, want %v", row, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		level Level
		n     int
		ok    bool
	}{{"0", 1, false}, {"0", 2, true}, {"1", 2, true}, {"5", 2, false}, {"5", 3, true}, {"6", 3, false}, {"6", 4, true}, {"10", 5, false}, {"10", 2, false}, {"10", 4, true}, {"4", 4, false}, {"", 4, false}} {
		if err := tt.level.Check(tt.n); (err == nil) != tt.ok {
			t.Errorf("raid %q of %d: %v", tt.level, tt.n, err)
		}
	}
}
