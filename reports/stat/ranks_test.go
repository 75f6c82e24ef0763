package stat

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Hamilton's depression scale in nine patients before and after treatment:
// Hollander and Wolfe, Nonparametric Statistical Methods (1973), example 3.1;
// R 4.2.2 gives wilcox.test(x, y, paired=TRUE, conf.int=TRUE) for it.
func TestSignedRanksOfHollanderAndWolfe(t *testing.T) {
	x := []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	y := []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	var d []bound
	for i := range x {
		d = append(d, bound{x[i] - y[i], x[i] - y[i]})
	}
	middle, low, high, p := signedRanks(d, 0.95)
	if diff := cmp.Diff([]float64{0.46, 0.010, 0.786, 0.0390625}, []float64{middle, low, high, p}, near); diff != "" {
		t.Errorf("middle, low, high, p (-want +got):\n%s", diff)
	}
	// R 4.2.2: wilcox.test(c(0.011, 0.032, -0.005, 0.021, 0.047, 0.019, 0.0134), conf.int=TRUE)
	d = nil
	for _, v := range []float64{0.011, 0.032, -0.005, 0.021, 0.047, 0.019, 0.0134} {
		d = append(d, bound{v, v})
	}
	middle, low, high, p = signedRanks(d, 0.95)
	if diff := cmp.Diff([]float64{0.0195, 0.0042, 0.034, 0.03125}, []float64{middle, low, high, p}, near); diff != "" {
		t.Errorf("middle, low, high, p (-want +got):\n%s", diff)
	}
}

// R 4.2.2: qsignrank(.025, n), which is where the interval begins.
func TestRankTail(t *testing.T) {
	for n, want := range map[int]int{5: 0, 6: 1, 8: 4, 12: 14} {
		if got := rankTail(n, 0.025); got != want {
			t.Errorf("n = %d: the interval begins at mean %d, want %d", n, got, want)
		}
	}
	if a, b := rankTail(exactRanks, 0.025), rankTail(exactRanks+1, 0.025); b < a || b > a+exactRanks {
		t.Errorf("the normal tail does not go on where the exact one ends: %d, then %d", a, b)
	}
	for level, want := range map[float64]int{0.95: 6, 0.99: 8, 1 - 0.05/6: 8} {
		if got := fewestRanks(level); got != want {
			t.Errorf("level %v needs %d pairs, want %d", level, got, want)
		}
	}
}

// Ties and zeros, counted out by hand: of |1|, |1|, |2| the ranks are 1.5,
// 1.5 and 3, and the zero has rank 1 below them, so 2.5, 2.5 and 4. All
// positive is one of eight sign patterns.
func TestRankTestTies(t *testing.T) {
	up, down := rankTest([]float64{1, 0, 1, 2})
	if diff := cmp.Diff([]float64{1.0 / 8, 1}, []float64{up, down}, near); diff != "" {
		t.Errorf("p up, p down (-want +got):\n%s", diff)
	}
	// -2.5 +2.5 +4 is 6.5 of 9: sums of 6.5 (twice) and 9.
	up, down = rankTest([]float64{-1, 0, 1, 2})
	if diff := cmp.Diff([]float64{3.0 / 8, 7.0 / 8}, []float64{up, down}, near); diff != "" {
		t.Errorf("p up, p down (-want +got):\n%s", diff)
	}
	up, down = rankTest([]float64{0, 0})
	if up != 1 || down != 1 {
		t.Errorf("p of nothing is %v, %v, want 1", up, down)
	}
	// The normal approximation goes on where counting ends.
	var a, b []float64
	for i := range exactRanks + 1 {
		v := float64(i + 1)
		if i%3 == 1 {
			v = -v
		}
		if i < exactRanks {
			a = append(a, v)
		}
		b = append(b, v)
	}
	exact, _ := rankTest(a)
	normal, _ := rankTest(b)
	if normal/exact < 0.5 || normal/exact > 2 {
		t.Errorf("p jumps from %v to %v at %d pairs", exact, normal, len(b))
	}
}

func TestTails(t *testing.T) {
	base := []float64{1, 1.5, 0.8, 1.1, 4, 1.2}
	arm := []float64{2.1, 3.2, 1.5, 2.3, 9, 2.6}
	tail := Metric{Shape: Tail}
	if v := tail.Compare(pairs(base, arm)); v.Kind != Worse || v.Method != ByRanks || v.P != 2.0/64 {
		t.Errorf("six maxima, all worse: %+v", v)
	}
	v := tail.Compare(pairs(base[:5], arm[:5]))
	if v.Kind != Undecided || v.Why != FewRanks || !math.IsInf(v.High, 1) || v.Low != -1 {
		t.Errorf("five maxima: %+v", v)
	}
	if w := strings.Join(v.Warnings, "\n"); !strings.Contains(w, "6 would") {
		t.Errorf("warnings %q do not say what would decide", w)
	}
	vs := []*Verdict{&v}
	FDR(vs, 0.05)
	if v.Why != FewRanks {
		t.Errorf("FDR made it %v", v.Why)
	}
}

// Runs stopped at 600 s: where the arm hit the limit and the baseline did not
// it is worse; where both did nothing is known.
func TestLimits(t *testing.T) {
	var ps []Pair
	for i := range 6 {
		ps = append(ps, Pair{Block: i + 1, Base: 100 + float64(i), Arm: 600, ArmKnown: AtLeast})
	}
	v := Compare(ps, Lower)
	if v.Kind != Worse || !math.IsInf(v.High, 1) || !(v.Low > 4.6 && v.Low < 5) {
		t.Errorf("arm at its limit: %+v", v)
	}
	for i := range ps {
		ps[i].Base, ps[i].BaseKnown = 600, AtLeast
	}
	if v := Compare(ps, Lower); v.Kind != Undecided || v.P != 1 {
		t.Errorf("both at their limit: %+v", v)
	}
	// More is better, and the run was stopped: throughput is at most this.
	for i := range ps {
		ps[i] = Pair{Block: i + 1, Base: 120, Arm: 20 + float64(i), ArmKnown: AtMost}
	}
	if v := Compare(ps, Higher); v.Kind != Worse || v.Low != -1 {
		t.Errorf("throughput at its limit: %+v", v)
	}
}
