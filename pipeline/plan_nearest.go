package pipeline

import (
	"fmt"
	"slices"
	"strings"
)

// unknown words the refusal of a word that is not one of those known: with
// the nearest known one when there is a near one, else with all of them.
func unknown(kind, word string, known []string) string {
	msg := fmt.Sprintf("unknown %s %s", kind, quote(word))
	if near := nearest(word, known); near != "" {
		return msg + ": did you mean " + near + "?"
	}
	switch len(known) {
	case 0:
		return msg
	case 1:
		return msg + ": there is only " + known[0]
	}
	known = slices.Sorted(slices.Values(known))
	const most = 24
	if len(known) > most {
		known = append(known[:most:most], "...")
	}
	return msg + ": there are " + strings.Join(known, ", ")
}

// nearest gives the known word that was probably meant, or "". A word is near
// when few slips of the keyboard lie between (one in three letters at most),
// or when it is a whole part of exactly one known word (deadline in
// mq-deadline). Of equally near words the first wins.
func nearest(word string, known []string) string {
	word = strings.ToLower(word)
	fold := strings.NewReplacer("_", "-", " ", "-").Replace
	best, bestSlips := "", max(1, len(word)/3)+1
	var parts []string
	for _, k := range known {
		if d := slips(fold(word), fold(strings.ToLower(k))); d < bestSlips && d < len(k) {
			best, bestSlips = k, d
		}
		if slices.Contains(strings.Split(fold(strings.ToLower(k)), "-"), word) {
			parts = append(parts, k)
		}
	}
	if len(parts) == 1 && bestSlips > 0 {
		return parts[0]
	}
	return best
}

// slips counts the letters inserted, dropped, changed or swapped with their
// neighbour between two words: the optimal string alignment distance.
func slips(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	before, last, row := []int(nil), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(last[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, make([]int, len(b)+1)
	}
	return last[len(b)]
}
