package stat

import (
	"cmp"
	"math"
	"slices"
)

// FDR holds the claims of a run to a false-discovery rate of q: of all that
// is called better or worse, a share of q at most is expected to be chance
// (Benjamini and Hochberg 1995; valid for independent comparisons and those
// that depend on each other positively, as metrics of one workload do).
//
// It sets Q of each verdict and turns claims that do not stand into
// Undecided. Comparisons that could claim nothing whatever their values were
// (Broken, or too few pairs) do not count as comparisons.
func FDR(vs []*Verdict, q float64) {
	var family []*Verdict
	for _, v := range vs {
		if v.Kind != Broken && v.Why != FewPairs && v.Why != FewRanks && !math.IsNaN(v.P) {
			family = append(family, v)
		}
	}
	slices.SortStableFunc(family, func(a, b *Verdict) int { return cmp.Compare(a.P, b.P) })
	m, adjusted := float64(len(family)), 1.0
	for i, v := range slices.Backward(family) {
		adjusted = min(adjusted, v.P*m/float64(i+1))
		v.Q = adjusted
		if (v.Kind == Better || v.Kind == Worse) && v.Q > q {
			v.Kind, v.Why = Undecided, Chance
		}
	}
}
