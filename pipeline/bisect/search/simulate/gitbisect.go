package simulate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// script is how git bisect run decides: k boots of a commit, their mean or
// median against a threshold half way between the ends, booted ends times each.
// With paired, every step boots the good end as often beside the commit, in the
// same block, and compares the difference.
type script struct {
	k, ends int
	median  bool
	paired  bool
}

func (s script) middle(x []float64) float64 {
	if s.median {
		x = slices.Sorted(slices.Values(x))
		return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
	}
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// gitBisect runs git bisect run on a history.
func (h *history) gitBisect(r *rand.Rand, s script) outcome {
	host := h.host(r)
	measure := func(commit, n int) float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = host.boot(commit)
		}
		return s.middle(x)
	}
	against := func(commit, n int) float64 {
		x := make([]float64, n)
		for i := range x {
			host.fresh(2)
			x[i] = -host.boot(0)
			x[i] += host.boot(commit)
		}
		return s.middle(x)
	}
	last := len(h.graph.Parents) - 1
	var good, bad float64
	if s.paired {
		bad = against(last, s.ends)
	} else {
		good, bad = measure(0, s.ends), measure(last, s.ends)
	}
	threshold := (good + bad) / 2

	left := make([]float64, last+1) // 1: may be the culprit
	for i := 1; i <= last; i++ {
		left[i] = 1
	}
	skipped := make([]bool, last+1)
	tip := last
	var o outcome
	for {
		t := pick(h.above(left), left, skipped, tip)
		if t < 0 {
			break
		}
		if h.broken[t] {
			skipped[t] = true
			o.builds++
			continue
		}
		var y float64
		if s.paired {
			y = against(t, s.k)
		} else {
			y = measure(t, s.k)
		}
		isBad := (y > threshold) == (bad > good)
		above := h.graph.Reachable(t)
		for i := range left {
			if above[i] != isBad {
				left[i] = 0
			}
		}
		if isBad {
			tip = t
		}
	}
	o.decided, o.boots = true, host.boots
	for i, w := range left {
		if w > 0 {
			o.size++
			if i == h.culprit || i == h.second && i != 0 {
				o.right = true
			}
		}
	}
	return o
}

// above is the number of commits left above each.
func (h *history) above(left []float64) []float64 { return h.graph.Above(left) }

// pick is git's choice: the commit that splits what is left most evenly. Once
// something was skipped and would be first, git moves away from it by a
// pseudo-random step along the list of the next best (bisect.c, skip_away).
func pick(above, left []float64, skipped []bool, tip int) int {
	all := above[tip]
	best, any := -1, false
	var far float64
	for t, w := range left {
		if w == 0 || t == tip {
			continue
		}
		if d := min(above[t], all-above[t]); best < 0 || d > far {
			best, far = t, d
		}
		any = any || !skipped[t]
	}
	if !any {
		return -1
	}
	if !skipped[best] {
		return best
	}
	var list []int
	for t, w := range left {
		if w > 0 && t != tip && !skipped[t] {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int {
		return cmp.Compare(min(above[b], all-above[b]), min(above[a], all-above[a]))
	})
	const modulo = 32768
	prn := (uint32(len(list))*1103515245 + 12345) / 65536 % modulo
	i := int(float64(len(list)*int(prn)/modulo) * math.Sqrt(float64(prn)/modulo))
	return list[min(i, len(list)-1)]
}
