package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Confidence is the coverage of every interval of this package, together with
// those of the earlier looks where a run looks repeatedly.
const Confidence = 0.95

// Summary describes the samples of one cell.
type Summary struct {
	N         int
	Mean      float64
	Median    float64
	SD        float64 // with n-1; NaN for n < 2
	CV        float64 // SD / |Mean|; NaN for n < 2, or a mean of zero
	Min, Max  float64
	Low, High float64 // 95 % t interval of the mean; NaN for n < 2
}

// Describe summarises values. All fields of an empty slice are NaN but N.
func Describe(values []float64) Summary {
	nan := math.NaN()
	s := Summary{N: len(values), Mean: nan, Median: nan, SD: nan, CV: nan, Min: nan, Max: nan, Low: nan, High: nan}
	if s.N == 0 {
		return s
	}
	sorted := slices.Sorted(slices.Values(values))
	s.Min, s.Max = sorted[0], sorted[s.N-1]
	s.Median = median(sorted)
	s.Mean = stat.Mean(sorted, nil)
	if s.N < 2 {
		return s
	}
	s.SD = stat.StdDev(sorted, nil)
	half := tQuantile(float64(s.N-1), Confidence) * s.SD / math.Sqrt(float64(s.N))
	s.Low, s.High = s.Mean-half, s.Mean+half
	if s.Mean != 0 {
		s.CV = s.SD / math.Abs(s.Mean)
	}
	return s
}

func median(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return sorted[n/2-1] + (sorted[n/2]-sorted[n/2-1])/2
}

// tQuantile gives how many standard errors an interval of this coverage
// reaches to each side.
func tQuantile[N int | float64](df N, level float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(df)}.Quantile((1 + level) / 2)
}
