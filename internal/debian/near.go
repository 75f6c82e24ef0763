package debian

import (
	"cmp"
	"slices"
)

// near gives up to five of names that look most like name, the nearest first.
// Names that differ in more than a third of their letters, or in two letters
// more than the nearest does, are left out.
func near(name string, names []string) []string {
	type match struct {
		name string
		far  int
	}
	var found []match
	for _, n := range names {
		if d := distance(name, n); d <= max(1, len(name)/3) {
			found = append(found, match{n, d})
		}
	}
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, m := range found[:min(5, len(found))] {
		if m.far < found[0].far+2 {
			out = append(out, m.name)
		}
	}
	return out
}

// distance is Levenshtein's: the least number of letters to insert, delete or
// replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
