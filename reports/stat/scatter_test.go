package stat

import (
	"math"
	"testing"
)

// R 4.2.2: var.test(log(cfq), log(vanilla))$p.value of the mail's runtimes.
func TestScatter(t *testing.T) {
	if got := Scatter(kara.vanilla, kara.cfq); math.Abs(got-0.0126245938002) > 1e-6 {
		t.Errorf("p is %v", got)
	}
	if a, b := Scatter(kara.vanilla, kara.cfq), Scatter(kara.cfq, kara.vanilla); math.Abs(a-b) > 1e-12 {
		t.Errorf("p depends on the order: %v, %v", a, b)
	}
	for _, v := range [][]float64{{1, 1, 1}, {0, 1, 2}, {1, 2}} {
		if got := Scatter(v, []float64{1, 2, 3}); got != 1 {
			t.Errorf("Scatter(%v) is %v, want 1", v, got)
		}
	}
}
