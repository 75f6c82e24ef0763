package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// outlier gives the index of the value that stands apart from the others by
// Grubbs' test at the two-sided level alpha, or -1. With fewer than four
// values nothing can stand apart.
func outlier(values []float64, alpha float64) int {
	s := Describe(values)
	if s.N < 4 || s.SD == 0 {
		return -1
	}
	worst := 0
	for i, v := range values {
		if math.Abs(v-s.Mean) > math.Abs(values[worst]-s.Mean) {
			worst = i
		}
	}
	if math.Abs(values[worst]-s.Mean)/s.SD > grubbs(s.N, alpha) {
		return worst
	}
	return -1
}

// grubbs gives the critical value of the largest deviation over the standard
// deviation (Grubbs 1969; the closed form is in the NIST/SEMATECH e-Handbook,
// 1.3.5.17.1).
func grubbs(n int, alpha float64) float64 {
	N := float64(n)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: N - 2}.Quantile(1 - alpha/(2*N))
	return (N - 1) / math.Sqrt(N) * math.Sqrt(t*t/(N-2+t*t))
}
