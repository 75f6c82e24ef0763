package stat

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// Power is the probability with which the change called MDE is seen.
const Power = 0.80

// effect gives the smallest mean, in standard deviations of one pair, that a
// two-sided t test of n pairs at 1 - level sees with probability Power, where the
// standard deviation is known by df degrees of freedom: n-1 for pairs. n is at
// least 2.
func effect(n int, df, level float64) float64 {
	p := newPower(n, df, level)
	// Newton's steps within a bracket: power grows with the effect, and one of
	// three critical values is seen with more than 80 % already at n = 2.
	t := tQuantile(df, level)
	low, high := 0.0, 3*t
	d := (t + 0.84) / math.Sqrt(float64(n)) // exact for many pairs
	for range 100 {
		seen, slope := p.at(d)
		if math.Abs(seen-Power) < 1e-9 {
			break
		}
		if seen < Power {
			low = d
		} else {
			high = d
		}
		d -= (seen - Power) / slope
		if !(low < d && d < high) {
			d = low + (high-low)/2
		}
	}
	return d
}

// power is the power of a two-sided t test of n pairs.
//
// The test statistic has the noncentral t distribution: (Z + d√n) / (X/√ν)
// with Z normal and X chi of ν degrees of freedom. Given X the
// probability to reject is a normal one, and it is integrated over X's
// density by Gauss's rule.
type power struct {
	n       float64
	crit    []float64 // what |Z + d√n| must exceed at each point
	weights []float64 // of the points, times the density there
}

func newPower(n int, nu, level float64) power {
	// Chi has a mean of √ν at most and a standard deviation below 0.71: beyond
	// ten of them lies nothing that matters.
	low, high := math.Max(0, math.Sqrt(nu)-7), math.Sqrt(nu)+7
	p := power{n: float64(n), crit: make([]float64, 64), weights: make([]float64, 64)}
	quad.Legendre{}.FixedLocations(p.crit, p.weights, low, high)
	chi, t := distuv.Chi{K: nu}, tQuantile(nu, level)
	for i, x := range p.crit {
		p.weights[i] *= chi.Prob(x)
		p.crit[i] = t * x / math.Sqrt(nu)
	}
	return p
}

// at gives the probability that the test rejects when the mean is d standard
// deviations of one pair, and how fast it grows with d.
func (p power) at(d float64) (rejects, slope float64) {
	normal := distuv.UnitNormal
	root := math.Sqrt(p.n)
	for i, c := range p.crit {
		above, below := d*root-c, -d*root-c
		rejects += p.weights[i] * (normal.CDF(above) + normal.CDF(below))
		slope += p.weights[i] * root * (normal.Prob(above) - normal.Prob(below))
	}
	return rejects, slope
}
