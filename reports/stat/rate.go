package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Rate is how often something happened: in Hits of Of boots.
type Rate struct{ Hits, Of int }

// Interval gives the exact 95 % interval of the true rate (Clopper and Pearson,
// Biometrika 26, 1934). It is NaN without boots.
func (r Rate) Interval() (low, high float64) {
	if r.Of == 0 {
		return math.NaN(), math.NaN()
	}
	k, n, tail := float64(r.Hits), float64(r.Of), (1-Confidence)/2
	low, high = 0, 1
	if r.Hits > 0 {
		low = distuv.Beta{Alpha: k, Beta: n - k + 1}.Quantile(tail)
	}
	if r.Hits < r.Of {
		high = distuv.Beta{Alpha: k + 1, Beta: n - k}.Quantile(1 - tail)
	}
	return low, high
}

// Differs gives the two-sided p of two rates being one (Fisher's exact test):
// the probability of a table no more likely than this one, with the same sums.
func (r Rate) Differs(other Rate) float64 {
	n, hits := r.Of+other.Of, r.Hits+other.Hits
	logP := func(k int) float64 {
		return logChoose(r.Of, k) + logChoose(other.Of, hits-k) - logChoose(n, hits)
	}
	seen, sum := logP(r.Hits), 0.0
	for k := max(0, hits-other.Of); k <= min(r.Of, hits); k++ {
		if l := logP(k); l <= seen+1e-9 {
			sum += math.Exp(l)
		}
	}
	return min(sum, 1)
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
