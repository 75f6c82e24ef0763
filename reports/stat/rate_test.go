package stat

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// R 4.2.2: binom.test(hits, of)$conf.int.
func TestRateInterval(t *testing.T) {
	for r, want := range map[Rate][]float64{
		{0, 3}: {0, 0.7075982262}, {2, 5}: {0.05274495053, 0.85336720037}, {5, 5}: {0.4781762499, 1},
		{1, 10}: {0.002528578544, 0.445016117028}, {3, 20}: {0.03207093719, 0.37892682655},
	} {
		low, high := r.Interval()
		if d := cmp.Diff(want, []float64{low, high}, near); d != "" {
			t.Errorf("%d of %d (-want +got):\n%s", r.Hits, r.Of, d)
		}
	}
	if low, high := (Rate{}).Interval(); !math.IsNaN(low) || !math.IsNaN(high) {
		t.Errorf("interval of no boots is %v, %v", low, high)
	}
}

// The lady tasting tea (Fisher, The Design of Experiments, 1935, chapter II):
// all eight cups right has the chance 1/70 on one side; and R's
// fisher.test(matrix(c(...), 2))$p.value.
func TestRateDiffers(t *testing.T) {
	for _, tt := range []struct {
		a, b Rate
		want float64
	}{
		{Rate{4, 4}, Rate{0, 4}, 2.0 / 70},
		{Rate{3, 3}, Rate{0, 3}, 0.1},
		{Rate{5, 5}, Rate{1, 5}, 0.04761904762},
		{Rate{0, 5}, Rate{0, 5}, 1},
		{Rate{0, 0}, Rate{1, 5}, 1},
	} {
		if got := tt.a.Differs(tt.b); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%v against %v: p = %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}
