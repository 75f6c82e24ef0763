package stat

import (
	"math"
	"slices"
)

const (
	// quietFamily is how many comparisons by one metric make a median of their
	// spreads worth something.
	quietFamily = 8
)

// quietShare is which share of that median is the smallest spread that so few
// pairs are believed. The test of three is so weak that a quarter does; of
// five, half keeps the rate of the simulations.
func quietShare(n int) float64 {
	if n <= 3 {
		return 0.25
	}
	return 0.5
}

// Comparison is one question to a run.
type Comparison struct {
	Metric Metric
	Pairs  []Pair
	// Family names the comparisons that are likely to scatter alike: those by
	// one metric of one workload.
	Family string
	// Broken comparisons claim nothing and do not count.
	Broken bool
}

// Judge compares everything that a run asks and holds its claims to a
// false-discovery rate of q; see [FDR].
//
// Three or five boots may agree by luck: with noise of two modes, as a device
// cache or the placement of a file can make, all of the baseline's may fall
// into one and all of the arm's into the other, each with next to no spread.
// One comparison in thirty does that at n = 3, which its own p does not know,
// and of 48 conditions there is always one. So where a run has eight
// comparisons of a family, none of fewer than six pairs is believed a spread
// far below their median (a quarter of it at three pairs, else half). Tusher, Tibshirani and Chu (PNAS 98, 2001)
// add a constant to the spread for the same reason. The price: in a run of
// noisy conditions a quiet one sees only changes that are larger.
func Judge(cs []Comparison, q float64) []Verdict {
	out := make([]Verdict, len(cs))
	spreads := map[string][]float64{}
	known := table{}
	for i, c := range cs {
		c.Metric.table = known
		out[i] = c.Metric.Compare(c.Pairs)
		if !c.Broken && out[i].N >= minPairs && out[i].Scale == Ratio && out[i].Method != ByRanks {
			spreads[c.Family] = append(spreads[c.Family], spread(c.Pairs))
		}
	}
	var family []*Verdict
	for i, c := range cs {
		if s := spreads[c.Family]; len(s) >= quietFamily {
			c.Metric.table = known
			c.Metric.quiet = quietShare(out[i].N) * median(slices.Sorted(slices.Values(s)))
			if out[i].N < fewPairs && out[i].Method != ByRanks {
				out[i] = c.Metric.Compare(c.Pairs)
			}
		}
		if c.Broken {
			out[i].Kind, out[i].Why = Broken, None
		}
		family = append(family, &out[i])
	}
	FDR(family, q)
	return out
}

// spread is the standard deviation of the log ratios of whole pairs.
func spread(pairs []Pair) float64 {
	var d []float64
	for _, p := range pairs {
		if x := Ratio.distance(p); !math.IsNaN(x) {
			d = append(d, x)
		}
	}
	return Describe(d).SD
}

// Void takes back what a run claims, where the baseline compared with itself
// changed: whatever made that made the claims too.
func Void(vs []*Verdict) {
	for _, v := range vs {
		if v.Kind == Better || v.Kind == Worse {
			v.Kind, v.Why = Undecided, Control
		}
	}
}
