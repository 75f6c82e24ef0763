// Package others holds the rules by which others call a change, to compare
// ours with on the same samples. They take what they were made for: two heaps
// of values, without blocks.
package others

import (
	"math"

	"golang.org/x/perf/benchmath"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Split gives the values of the baseline and the arm in one pair.
type Split[P any] func(P) (base, arm float64)

func (split Split[P]) heaps(ps []P) (base, arm []float64) {
	for _, p := range ps {
		b, a := split(p)
		base, arm = append(base, b), append(arm, a)
	}
	return base, arm
}

// Benchstat is the rule of golang.org/x/perf/cmd/benchstat: Mann and
// Whitney's test at 5 %.
func Benchstat[P any](split Split[P]) func([]P) bool {
	return func(ps []P) bool {
		base, arm := split.heaps(ps)
		t := benchmath.DefaultThresholds
		c := benchmath.AssumeNothing.Compare(benchmath.NewSample(base, &t), benchmath.NewSample(arm, &t))
		return c.P < c.Alpha
	}
}

// Overlap is the rule of mmtests' compare-kernels: the 95 % intervals of the
// two means do not overlap.
func Overlap[P any](split Split[P]) func([]P) bool {
	return func(ps []P) bool {
		base, arm := split.heaps(ps)
		n := float64(len(ps))
		t := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) / math.Sqrt(n)
		m1, s1 := stat.MeanStdDev(base, nil)
		m2, s2 := stat.MeanStdDev(arm, nil)
		return math.Abs(m1-m2) > t*(s1+s2)
	}
}

// Means is the rule of many a mail: the means differ by 5 % or more.
func Means[P any](split Split[P]) func([]P) bool {
	return func(ps []P) bool {
		base, arm := split.heaps(ps)
		return math.Abs(stat.Mean(arm, nil)/stat.Mean(base, nil)-1) >= 0.05
	}
}
