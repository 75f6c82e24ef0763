package stat

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// driftLevel is the rate of false warnings about drift. Below 1 in 60,
	// which is the chance of five values in order, five blocks could not warn.
	driftLevel = 0.02

	// runsLevel is that of warnings about blocks that resemble their
	// neighbours, and fewRuns the fewest blocks to judge it by.
	runsLevel = 0.01
	fewRuns   = 8

	// orderLevel is that of warnings about which of a pair ran first.
	orderLevel = 0.01
)

// Trend says whether values rise or fall along their order: Kendall's tau
// against the order, from -1 to 1, and its two-sided p (Mann, Econometrica 13,
// 1945). p is exact up to ten values without ties, else by the normal
// approximation with the variance for ties.
func Trend(values []float64) (tau, p float64) {
	n := len(values)
	if n < 3 {
		return 0, 1
	}
	score := 0
	for i, a := range values {
		for _, b := range values[i+1:] {
			score += cmp.Compare(b, a)
		}
	}
	pairs := n * (n - 1) / 2
	tau = float64(score) / float64(pairs)
	ties := tieSizes(values)
	if n <= 10 && len(ties) == 0 {
		// The number of orders with each count of inversions (Mahon's).
		chances := []float64{1}
		for k := 2; k <= n; k++ {
			next := make([]float64, len(chances)+k-1)
			for i, x := range chances {
				for j := range k {
					next[i+j] += x / float64(k)
				}
			}
			chances = next
		}
		for inversions, x := range chances {
			if s := pairs - 2*inversions; s*s >= score*score {
				p += x
			}
		}
		return tau, min(p, 1)
	}
	variance := float64(n*(n-1)*(2*n+5)) / 18
	for _, t := range ties {
		variance -= float64(t*(t-1)*(2*t+5)) / 18
	}
	if variance <= 0 {
		return tau, 1
	}
	z := (math.Abs(float64(score)) - 1) / math.Sqrt(variance)
	return tau, min(1, 2*distuv.UnitNormal.Survival(max(z, 0)))
}

func tieSizes(values []float64) (out []int) {
	s := slices.Sorted(slices.Values(values))
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] == s[i] {
			j++
		}
		if j-i > 1 {
			out = append(out, j-i)
		}
		i = j
	}
	return out
}

// neighbours gives the p of values resembling those next to them no more than
// by chance, by the ratio of von Neumann over ranks (Bartels, J. Am. Statist.
// Ass. 77, 1982) with its normal approximation.
func neighbours(values []float64) float64 {
	n := len(values)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	rank := make([]float64, n)
	for r, i := range order {
		rank[i] = float64(r + 1)
	}
	var steps float64
	for i := range n - 1 {
		steps += (rank[i+1] - rank[i]) * (rank[i+1] - rank[i])
	}
	f := float64(n)
	ratio := steps / (f * (f*f - 1) / 12)
	variance := 4 * (f - 2) * (5*f*f - 2*f - 9) / (5 * f * (f + 1) * (f - 1) * (f - 1))
	return distuv.UnitNormal.CDF((ratio - 2) / math.Sqrt(variance))
}

// doubts warns where the order of blocks shows in the values, which pairing
// was to cancel, or which of a pair ran second.
func (v *Verdict) doubts(pairs []Pair, d []float64) {
	base := make([]float64, len(pairs))
	for i, p := range pairs {
		base[i] = p.Base
	}
	if _, p := Trend(base); p <= driftLevel {
		v.warn("the baseline drifted from block to block (Kendall's test at 2 %%); comparing within blocks cancels that")
	}
	if tau, p := Trend(d); p <= driftLevel {
		word := map[bool]string{true: "rose", false: "fell"}[tau > 0]
		v.warn("the change itself %s from block to block (Kendall's tau %.2f): what it is depends on when it is measured", word, tau)
	}
	if len(d) >= fewRuns && len(tieSizes(d)) == 0 && neighbours(d) <= runsLevel {
		v.warn("blocks resemble the ones before them (Bartels' test at 1 %%): they tell less than as many independent ones, and the interval is too short")
	}
	v.order(pairs, d)
}

// order warns where it matters which of a pair ran second. The layout lets
// each arm go first in turn, so this is noise and no bias.
func (v *Verdict) order(pairs []Pair, d []float64) {
	var after, before []float64 // distances with the arm second, and first
	for i, p := range pairs {
		switch p.First {
		case BaseFirst:
			after = append(after, d[i])
		case ArmFirst:
			before = append(before, d[i])
		}
	}
	if len(after) < 2 || len(before) < 2 || len(after)+len(before) < len(d) {
		return
	}
	// Student's test of two means: half of what they differ by is the order's.
	a, b := Describe(after), Describe(before)
	na, nb := float64(a.N), float64(b.N)
	df := na + nb - 2
	sd := math.Sqrt(((na-1)*a.SD*a.SD + (nb-1)*b.SD*b.SD) / df * (1/na + 1/nb))
	mean := (a.Mean - b.Mean) / 2
	if sd == 0 || 2*(distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}).Survival(math.Abs(2*mean)/sd) > orderLevel {
		return
	}
	word := map[bool]string{true: "higher", false: "lower"}[mean > 0]
	if v.Scale == Ratio {
		v.warn("whichever arm ran second in a block was %s by %.2g %%: the host was not the same for both", word, 100*math.Abs(math.Expm1(mean)))
		return
	}
	v.warn("whichever arm ran second in a block was %s: the host was not the same for both", word)
}
