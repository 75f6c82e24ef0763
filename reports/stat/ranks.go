package stat

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// bound is what is known of a distance: it lies from low to high. They are
// equal where both runs of a pair went to their end.
type bound struct{ low, high float64 }

// signedRanks is Wilcoxon's signed-rank test with the interval that belongs to
// it, that of Hodges and Lehmann: from the k-th smallest to the k-th largest
// mean of two distances. Both assume that a distance is as likely to be above
// the true one as below by the same amount, which holds for two runs of the
// same kind whatever their noise is.
//
// A distance of which only a bound is known counts with the end that speaks
// against the claim, so p is never too small and the interval never too short.
// The interval is infinite where there are too few distances for the level.
func signedRanks(d []bound, level float64) (middle, low, high, p float64) {
	lows, highs, mids := make([]float64, len(d)), make([]float64, len(d)), make([]float64, len(d))
	for i, b := range d {
		lows[i], highs[i], mids[i] = b.low, b.high, b.low+(b.high-b.low)/2
		switch {
		case math.IsInf(b.low, 0):
			mids[i] = b.high
		case math.IsInf(b.high, 0):
			mids[i] = b.low
		}
		if math.IsInf(b.low, 0) && math.IsInf(b.high, 0) {
			mids[i] = 0
		}
	}
	middle = median(walsh(mids))
	below, above := walsh(lows), walsh(highs)
	low, high = math.Inf(-1), math.Inf(1)
	if k := rankTail(len(d), (1-level)/2); k > 0 {
		low, high = below[k-1], above[len(above)-k]
	}
	up, _ := rankTest(lows)
	_, down := rankTest(highs)
	return middle, low, high, min(1, 2*min(up, down))
}

// walsh gives the means of all pairs of values, each with itself too, sorted.
func walsh(d []float64) []float64 {
	out := make([]float64, 0, len(d)*(len(d)+1)/2)
	for i, a := range d {
		for _, b := range d[i:] {
			out = append(out, a/2+b/2)
		}
	}
	slices.Sort(out)
	return out
}

// exactRanks is up to how many pairs the distribution of ranks is counted out;
// beyond it is normal to four digits.
const exactRanks = 60

// rankTail gives the largest k for which the sum of positive ranks is below k
// with a probability of at most tail; 0 if there is none.
func rankTail(n int, tail float64) int {
	if n > exactRanks {
		f := float64(n)
		return int(f*(f+1)/4 + distuv.UnitNormal.Quantile(tail)*math.Sqrt(f*(f+1)*(2*f+1)/24))
	}
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	sum, k := 0.0, 0
	for _, p := range rankSums(ranks) {
		if sum += p; sum > tail {
			return k
		}
		k++
	}
	return k
}

// rankSums gives the probability of each sum that a random subset of ranks
// has.
func rankSums(ranks []int) []float64 {
	p := []float64{1}
	for _, r := range ranks {
		next := make([]float64, len(p)+r)
		for sum, x := range p {
			next[sum] += x / 2
			next[sum+r] += x / 2
		}
		p = next
	}
	return p
}

// rankTest gives the probabilities of a sum of positive ranks as large as that
// of d, and as small, when every sign is as likely as its opposite. Distances
// of nothing take their ranks along and have no sign (Pratt 1959); equal ones
// share the mean of their ranks. Given the ranks, the test is exact.
func rankTest(d []float64) (up, down float64) {
	order := slices.Clone(d)
	slices.SortFunc(order, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	var ranks []int // doubled, so that shared ones are whole
	positive := 0
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && math.Abs(order[j]) == math.Abs(order[i]) {
			j++
		}
		for _, x := range order[i:j] {
			if x == 0 {
				continue
			}
			ranks = append(ranks, i+1+j)
			if x > 0 {
				positive += i + 1 + j
			}
		}
		i = j
	}
	if len(ranks) > exactRanks {
		var mean, variance float64
		for _, r := range ranks {
			mean, variance = mean+float64(r)/2, variance+float64(r*r)/4
		}
		z := (float64(positive) - mean) / math.Sqrt(variance)
		return distuv.UnitNormal.Survival(z), distuv.UnitNormal.CDF(z)
	}
	for sum, p := range rankSums(ranks) {
		if sum >= positive {
			up += p
		}
		if sum <= positive {
			down += p
		}
	}
	return min(up, 1), min(down, 1)
}
