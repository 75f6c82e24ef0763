package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Scatter gives the two-sided p of two arms scattering alike from boot to boot
// by the ratio of the variances of their logarithms (Fisher's F test). It is
// for a remark and no claim: the test believes that the noise is normal, and
// with few boots only a ratio of the standard deviations above ten or so shows.
// It is 1 where a value has no logarithm or an arm does not scatter.
func Scatter(base, arm []float64) float64 {
	logs := func(values []float64) (sd float64) {
		var out []float64
		for _, v := range values {
			if v <= 0 {
				return 0
			}
			out = append(out, math.Log(v))
		}
		return Describe(out).SD
	}
	a, b := logs(base), logs(arm)
	if !(a > 0) || !(b > 0) || len(base) < minPairs || len(arm) < minPairs {
		return 1
	}
	f := distuv.F{D1: float64(len(arm) - 1), D2: float64(len(base) - 1)}
	ratio := b * b / (a * a)
	return min(1, 2*min(f.CDF(ratio), f.Survival(ratio)))
}
