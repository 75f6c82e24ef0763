package stat

import (
	"math"
	"strings"
	"testing"
)

// R 4.2.2: cor.test(1:n, v, method="kendall", exact=TRUE).
func TestTrend(t *testing.T) {
	for _, tt := range []struct {
		v      []float64
		tau, p float64
	}{
		{[]float64{1, 2, 3, 4, 5}, 1, 2.0 / 120},
		{[]float64{5, 4, 3, 2, 1}, -1, 2.0 / 120},
		{[]float64{3, 1, 2, 5, 4, 6, 7}, 0.71428571429, 0.03015873016},
		{[]float64{2, 4, 3, 1, 5, 8, 6, 7, 9, 10}, 0.733333333333, 0.002212852734},
		{[]float64{1, 1, 1, 1, 1}, 0, 1},
		{[]float64{1, 2}, 0, 1},
	} {
		tau, p := Trend(tt.v)
		if math.Abs(tau-tt.tau) > 1e-9 || math.Abs(p-tt.p) > 1e-9 {
			t.Errorf("%v: tau %v, p %v, want %v, %v", tt.v, tau, p, tt.tau, tt.p)
		}
	}
}

func TestHostWarnings(t *testing.T) {
	warned := func(ps []Pair, want string) {
		t.Helper()
		if w := strings.Join(Compare(ps, Lower).Warnings, "\n"); !strings.Contains(w, want) {
			t.Errorf("warnings %q, want one with %q", w, want)
		}
	}
	var rising, second, alike []Pair
	walk := []float64{0, .01, .03, .035, .05, .03, .02, -.02, -.04, -.045, -.03, -.01}
	for i := range 12 {
		jitter := 1 + 0.001*float64(i*7%5)
		b := 100 * (1 + 0.02*float64(i))
		rising = append(rising, Pair{Block: i + 1, Base: b, Arm: b * jitter})
		p := Pair{Block: i + 1, Base: 100, Arm: 103 * jitter, First: BaseFirst}
		if i%2 == 1 {
			p = Pair{Block: i + 1, Base: 103 * jitter, Arm: 100, First: ArmFirst}
		}
		second = append(second, p)
		alike = append(alike, Pair{Block: i + 1, Base: 100 * (1 + 0.001*float64(i*5%7)), Arm: 100 * math.Exp(walk[i])})
	}
	warned(rising, "the baseline drifted")
	warned(second, "ran second in a block was higher by 3")
	warned(alike, "resemble the ones before")
}
