package stat

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// kara holds the runtimes in seconds of dd that Jan Kara posted on 26 April
// 2016 against version 5 of writeback throttling.
var kara = struct{ vanilla, vanillaFsync, cfq, cfqFsync, deadline, deadlineFsync []float64 }{
	vanilla:       []float64{87.9611, 87.3279, 87.2554},
	vanillaFsync:  []float64{93.3502, 93.2086, 93.541},
	cfq:           []float64{108.183, 97.184, 99.9587},
	cfqFsync:      []float64{104.9, 102.775, 102.892},
	deadline:      []float64{100.417, 100.643, 100.866},
	deadlineFsync: []float64{104.208, 106.341, 105.483},
}

func pairs(base, arm []float64) []Pair {
	var out []Pair
	for i := range base {
		out = append(out, Pair{Block: i + 1, Base: base[i], Arm: arm[i]})
	}
	return out
}

// near compares to a relative error of 1e-6, as many digits as R printed.
var near = cmp.Options{cmpopts.EquateApprox(1e-6, 1e-9), cmpopts.EquateNaNs()}

// The wanted numbers are those of R 4.2.2. Blocks are not seen to matter
// (var(log(arm*base)) / var(log(arm/base)) is 1.35, 0.98, 0.15 and 0.80), and
// the two samples give the shorter interval:
//
//	t.test(log(arm), log(base), conf.level=1-.05/1.1)
//	pt(q, df, d*sqrt(3)/sd, lower=FALSE) + pt(-q, df, d*sqrt(3)/sd) # is 0.8 at d = mde
//
// with sd = sqrt(var(log(arm)) + var(log(base))); each through exp(x) - 1, and
// p times 1.1.
func TestCompareAgainstR(t *testing.T) {
	for name, tt := range map[string]struct {
		base, arm                         []float64
		change, low, high, p, mde, sd, df float64
	}{
		"cfq":            {kara.vanilla, kara.cfq, 0.161750324987, 0.0059452511998, 0.341687150466, 0.04633065871, 0.207653262, 0.05576378053, 2.025408555},
		"cfq fsync":      {kara.vanillaFsync, kara.cfqFsync, 0.108724843217, 0.0769495662525, 0.141437646187, 0.003795110133, 0.038883385, 0.01163922473, 2.09643574},
		"deadline":       {kara.vanilla, kara.deadline, 0.150005394479, 0.139059348114, 0.161056629333, 2.39891153e-05, 0.01280208669, 0.004960323505, 2.952809197},
		"deadline fsync": {kara.vanillaFsync, kara.deadlineFsync, 0.12824567111, 0.09976237276, 0.157466672718, 0.002019875946, 0.0341286743, 0.01035382798, 2.122602646},
	} {
		t.Run(name, func(t *testing.T) {
			want := Verdict{Kind: Worse, Change: tt.change, Low: tt.low, High: tt.high, P: tt.p, Q: tt.p, MDE: tt.mde, N: 3, Level: 0.95, Method: ByTwoSamples, SD: tt.sd, DF: tt.df}
			got := Compare(pairs(tt.base, tt.arm), Lower)
			if d := cmp.Diff(want, got, near, cmpopts.IgnoreFields(Verdict{}, "Warnings")); d != "" {
				t.Errorf("verdict (-want +got):\n%s", d)
			}
			// The other way round it is better, by the reciprocal.
			back := Compare(pairs(tt.arm, tt.base), Lower)
			if d := cmp.Diff(1/(1+tt.change)-1, back.Change, near); d != "" || back.Kind != Better {
				t.Errorf("arms exchanged: %v, change (-want +got):\n%s", back.Kind, d)
			}
			if up := Compare(pairs(tt.base, tt.arm), Higher); up.Kind != Better {
				t.Errorf("more is better: %v, want better", up.Kind)
			}
		})
	}
}

// On the difference scale, against R 4.2.2 as above: t.test(b, a,
// conf.level=1-.05/1.1).
func TestCompareDifferencesAgainstR(t *testing.T) {
	stalls := pairs([]float64{0, 0, 1, 0, 0}, []float64{3, 2, 4, 3, 5})
	want := Verdict{Kind: Worse, Scale: Difference, Change: 3.2, Low: 1.76627202013, High: 4.63372797987, P: 0.00200027641, Q: 0.00200027641, MDE: 1.951719696, N: 5, Level: 0.95, Method: ByTwoSamples, SD: 1.224744871, DF: 5.202312139}
	if d := cmp.Diff(want, Compare(stalls, Lower), near, cmpopts.IgnoreFields(Verdict{}, "Warnings")); d != "" {
		t.Errorf("verdict (-want +got):\n%s", d)
	}
}

// Student's own example: the extra hours of sleep by two drugs, Biometrika 6
// (1908), as R's data set sleep; mean difference 1.58, t = 4.0621, df = 9. The
// same people slept: pairs matter.
func TestStudentsSleep(t *testing.T) {
	first := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	second := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	got := Compare(pairs(first, second), Higher)
	want := Verdict{Kind: Better, Scale: Difference, Change: 1.58, Low: 0.7001142367, High: 2.4598857633, P: 0.00283289, Q: 0.00283289, N: 10, Level: 0.95, SD: 1.229995483, DF: 9}
	if d := cmp.Diff(want, got, near, cmpopts.IgnoreFields(Verdict{}, "Warnings", "MDE")); d != "" {
		t.Errorf("verdict (-want +got):\n%s", d)
	}
}

// Two-sided 95 % points of t, as every table has them.
func TestQuantile(t *testing.T) {
	for df, want := range map[int]float64{1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 29: 2.045, 120: 1.980} {
		if got := tQuantile(float64(df), Confidence); math.Abs(got-want) > 0.0005 {
			t.Errorf("t at %d degrees of freedom is %.4f, want %.3f", df, got, want)
		}
	}
}

func TestPower(t *testing.T) {
	// R 4.2.2: power.t.test(n=n, sd=1, power=.8, type="one.sample", strict=TRUE)$delta
	for n, want := range map[int]float64{3: 3.26404355, 4: 2.127949343, 5: 1.681996966, 6: 1.434544782, 10: 0.9960013715, 20: 0.6604416546, 34: 0.495028098} {
		if got := effect(n, float64(n-1), Confidence); math.Abs(got-want) > 1e-7 {
			t.Errorf("effect that %d pairs see is %.9f, want %.9f", n, got, want)
		}
	}
	for _, tt := range []struct {
		n       int
		d, want float64
	}{
		// R 4.2.2: power.t.test(n=n, delta=d, sd=1, type="one.sample", strict=TRUE)$power
		{3, 5, 0.9754622687},
		{10, 1, 0.8030968566},
		{3, 0, 0.05}, // without an effect: the level itself
	} {
		if got, _ := newPower(tt.n, float64(tt.n-1), Confidence).at(tt.d); math.Abs(got-tt.want) > 1e-8 {
			t.Errorf("power of %d pairs at %v is %.10f, want %.10f", tt.n, tt.d, got, tt.want)
		}
	}
	// Dalgaard, Introductory Statistics with R, section 8.3: a difference of
	// 10 with sd 10√2 is seen with 85 % by n = 19.96892 pairs.
	d := 1 / math.Sqrt2
	a, _ := newPower(19, 18, Confidence).at(d)
	b, _ := newPower(20, 19, Confidence).at(d)
	if !(a < 0.85 && 0.85 < b) || math.Abs(a+0.96892*(b-a)-0.85) > 1e-3 {
		t.Errorf("power of 19 and 20 pairs is %.4f and %.4f, want 0.85 at 19.97", a, b)
	}
	if p, _ := newPower(2000, 1999, Confidence).at(0.0627); math.Abs(p-0.8) > 0.01 { // 2.802/√n in the limit
		t.Errorf("power of 2000 pairs at 0.0627 is %.4f, want 0.80", p)
	}
}

// The worked example of Benjamini and Hochberg 1995, section 3.2: of fifteen
// p-values four are rejected at 5 %. The adjusted ones are R's p.adjust.
func TestFDR(t *testing.T) {
	ps := []float64{.0001, .0004, .0019, .0095, .0201, .0278, .0298, .0344, .0459, .3240, .4262, .5719, .6528, .7590, 1.000}
	want := []float64{0.0015, 0.003, 0.0095, 0.035625, 0.0603, 0.06385714286, 0.06385714286, 0.0645, 0.0765, 0.486, 0.58118181818, 0.714875, 0.75323076923, 0.81321428571, 1}
	var vs []*Verdict
	for i, p := range ps {
		v := &Verdict{Kind: Worse, P: p, N: 3, Level: 0.95}
		if i%2 == 1 {
			v.Kind = Better
		}
		if p > 0.05 {
			v.Kind = NoChange
		}
		vs = append(vs, v)
	}
	// What cannot claim anything does not count: with these in the family the
	// fourth claim would fall.
	for range 10 {
		vs = append(vs, &Verdict{Kind: Broken, P: 0.9}, &Verdict{Kind: Undecided, Why: FewPairs, P: 0.9}, &Verdict{Kind: Undecided, P: math.NaN()})
	}
	slices.Reverse(vs) // the order must not matter
	FDR(vs, 0.05)
	slices.Reverse(vs)
	var got []float64
	claims := 0
	for i, v := range vs[:len(ps)] {
		got = append(got, v.Q)
		if v.Kind == Better || v.Kind == Worse {
			claims++
		}
		if 4 <= i && i <= 8 && (v.Kind != Undecided || v.Why != Chance) {
			t.Errorf("claim %d with p = %v is %v, want undecided by chance", i, v.P, v.Kind)
		}
		if i > 8 && v.Kind != NoChange {
			t.Errorf("comparison %d with p = %v became %v", i, v.P, v.Kind)
		}
	}
	if d := cmp.Diff(want, got, near); d != "" || claims != 4 {
		t.Errorf("%d claims stand, want 4; q (-want +got):\n%s", claims, d)
	}
	FDR(nil, 0.05)
}

func TestGrubbs(t *testing.T) {
	// One-sided points of Grubbs and Beck 1972, table I: n, level, critical value.
	for _, tt := range []struct {
		n           int
		level, want float64
	}{{4, 0.05, 1.463}, {5, 0.05, 1.672}, {8, 0.05, 2.032}, {10, 0.05, 2.176}, {10, 0.01, 2.410}, {20, 0.05, 2.557}, {20, 0.01, 2.884}} {
		if got := grubbs(tt.n, 2*tt.level); math.Abs(got-tt.want) > 0.003 {
			t.Errorf("critical value for n = %d at %v is %.4f, want %.3f", tt.n, tt.level, got, tt.want)
		}
	}
	// Uranium isotope measurements of Tietjen and Moore, as the NIST/SEMATECH
	// e-Handbook uses them: 245.57 stands apart (G = 2.469 against 2.032).
	uranium := []float64{199.31, 199.53, 200.19, 200.82, 201.92, 201.95, 202.18, 245.57}
	if i := outlier(uranium, 0.01); i != 7 {
		t.Errorf("outlier is %d, want 7", i)
	}
	if i := outlier(uranium[:7], 0.01); i != -1 {
		t.Errorf("outlier is %d without the outlier", i)
	}
	if i := outlier([]float64{1, 1, 1, 1}, 0.01); i != -1 {
		t.Errorf("outlier is %d among equals", i)
	}
}

func TestDescribe(t *testing.T) {
	// Mean, sd and CV are those of the mail's data as its readers computed
	// them; median and interval are R's.
	want := Summary{N: 3, Mean: 101.77523333, Median: 99.9587, SD: 5.72008262732, CV: 0.05620309028, Min: 97.184, Max: 108.183, Low: 87.56576036449, High: 115.98470630218}
	if d := cmp.Diff(want, Describe(kara.cfq), near); d != "" {
		t.Errorf("summary (-want +got):\n%s", d)
	}
	// R 4.2.2: t.test(c(10, 10, 11, 12, 15, 9.5))
	values := []float64{10, 10, 11, 12, 15, 9.5}
	s := Describe(values)
	if d := cmp.Diff([]float64{9.105707389, 13.394292611}, []float64{s.Low, s.High}, near); d != "" {
		t.Errorf("interval (-want +got):\n%s", d)
	}
	if s.Median != 10.5 {
		t.Errorf("median of six is %v, want 10.5", s.Median)
	}
	if !slices.Equal(values, []float64{10, 10, 11, 12, 15, 9.5}) {
		t.Error("Describe changed its argument")
	}
	nan := math.NaN()
	for _, tt := range []struct {
		values []float64
		want   Summary
	}{
		{nil, Summary{0, nan, nan, nan, nan, nan, nan, nan, nan}},
		{[]float64{7}, Summary{1, 7, 7, nan, nan, 7, 7, nan, nan}},
		{[]float64{-1, 1}, Summary{2, 0, 0, math.Sqrt2, nan, -1, 1, -12.7062047, 12.7062047}},
	} {
		if d := cmp.Diff(tt.want, Describe(tt.values), near); d != "" {
			t.Errorf("Describe(%v) (-want +got):\n%s", tt.values, d)
		}
	}
}

// TestKinds walks every way to each kind.
func TestKinds(t *testing.T) {
	nan := math.NaN()
	for name, tt := range map[string]struct {
		metric    Metric
		base, arm []float64
		kind      Kind
		why       Why
		scale     Scale
		n         int
		warning   string // one that must be there
	}{
		"nothing":        {Metric{}, nil, nil, Undecided, FewPairs, Ratio, 0, ""},
		"one pair":       {Metric{}, []float64{1}, []float64{9}, Undecided, FewPairs, Ratio, 1, ""},
		"two pairs":      {Metric{}, []float64{1, 1}, []float64{9, 9.0001}, Undecided, FewPairs, Ratio, 2, ""},
		"two equals":     {Metric{}, []float64{1, 1}, []float64{1, 1}, Undecided, FewPairs, Ratio, 2, ""},
		"two alike":      {Metric{}, []float64{1, 1}, []float64{2, 2}, Undecided, FewPairs, Ratio, 2, ""},
		"worse":          {Metric{}, []float64{10, 11, 12}, []float64{12, 13.1, 14.5}, Worse, None, Ratio, 3, "n = 3"},
		"better":         {Metric{Direction: Higher}, []float64{10, 11, 12}, []float64{12, 13.1, 14.5}, Better, None, Ratio, 3, "n = 3"},
		"no change":      {Metric{}, []float64{10, 11, 12}, []float64{10.1, 10.9, 12}, NoChange, None, Ratio, 3, "n = 3"},
		"noise":          {Metric{}, []float64{10, 11, 12}, []float64{10, 14, 11}, Undecided, Noise, Ratio, 3, "n = 3"},
		"missing":        {Metric{}, []float64{10, nan, 11, 12}, []float64{10.1, 5, 10.9, 12}, NoChange, None, Ratio, 3, "block 2 is left out"},
		"more missing":   {Metric{}, []float64{10, nan, 11, 12, 1}, []float64{10.1, 5, 10.9, 12, nan}, NoChange, None, Ratio, 3, "blocks 2, 5 are left out"},
		"outlier":        {Metric{}, []float64{10, 10, 10, 10, 10, 10, 10}, []float64{10.1, 10.2, 10, 10.15, 10.05, 10.1, 19}, Worse, None, Ratio, 7, "block 7 stands apart"},
		"all equal":      {Metric{}, []float64{3, 4, 5}, []float64{3, 4, 5}, NoChange, None, Ratio, 3, "same value in every block"},
		"all zero":       {Metric{Resolution: 1}, []float64{0, 0, 0}, []float64{0, 0, 0}, NoChange, None, Difference, 3, "same value in every block"},
		"same ratio":     {Metric{}, []float64{1, 2, 3}, []float64{1.1, 2.2, 3.3}, Undecided, NoSpread, Ratio, 3, "only its sign"},
		"same ratio, 5":  {Metric{}, []float64{1, 1, 1, 1, 1}, []float64{2, 2, 2, 2, 2}, Undecided, NoSpread, Ratio, 5, "only its sign"},
		"same ratio, 6":  {Metric{}, []float64{1, 1, 1, 1, 1, 1}, []float64{2, 2, 2, 2, 2, 2}, Worse, None, Ratio, 6, "only its sign"},
		"same step":      {Metric{}, []float64{0, 1, 2}, []float64{1, 2, 3}, Undecided, NoSpread, Difference, 3, "only its sign"},
		"resolution":     {Metric{Resolution: 1}, []float64{10, 10, 10}, []float64{11, 11, 11}, Undecided, Noise, Ratio, 3, "metric's resolution"},
		"fine steps":     {Metric{Resolution: 0.01}, []float64{10, 10, 10}, []float64{11, 11, 11}, Worse, None, Ratio, 3, "metric's resolution"},
		"zero":           {Metric{}, []float64{0, 0.1, 0}, []float64{10, 11, 10.5}, Worse, None, Difference, 3, "no ratio"},
		"negative":       {Metric{Direction: Higher}, []float64{-5, -5.1, -5.2}, []float64{-5.1, -5, -5.2}, NoChange, None, Difference, 3, "no ratio"},
		"negative noise": {Metric{}, []float64{-5, 1, 5}, []float64{5, -5, 1}, Undecided, Noise, Difference, 3, "no ratio"},
		"huge":           {Metric{}, []float64{1e308, 1e308, 1e308}, []float64{1e-308, 1.1e-308, 1.2e-308}, Better, None, Ratio, 3, "n = 3"},
	} {
		t.Run(name, func(t *testing.T) {
			ps := pairs(tt.base, tt.arm)
			got := tt.metric.Compare(ps)
			if got.Kind != tt.kind || got.Why != tt.why || got.Scale != tt.scale || got.N != tt.n {
				t.Errorf("got %v (why %d, scale %d, n %d), want %v (why %d, scale %d, n %d)\n%+v", got.Kind, got.Why, got.Scale, got.N, tt.kind, tt.why, tt.scale, tt.n, got)
			}
			if !strings.Contains(strings.Join(got.Warnings, "\n"), tt.warning) {
				t.Errorf("warnings %q, want one with %q", got.Warnings, tt.warning)
			}
			if got.N >= 2 && !(got.Low <= got.Change && got.Change <= got.High) {
				t.Errorf("change %v is outside its interval (%v, %v)", got.Change, got.Low, got.High)
			}
			slices.Reverse(ps)
			if d := cmp.Diff(got, tt.metric.Compare(ps), cmpopts.EquateNaNs()); d != "" {
				t.Errorf("the order of the pairs matters:\n%s", d)
			}
		})
	}
}

func TestNoWarningWithoutCause(t *testing.T) {
	got := Compare(pairs([]float64{10, 11, 12, 10, 11, 12}, []float64{10.1, 10.9, 12, 10, 11.1, 11.9}), Lower)
	if len(got.Warnings) != 0 {
		t.Errorf("warnings %q", got.Warnings)
	}
}

func ExampleCompare() {
	v := Compare([]Pair{
		{Block: 1, Base: 87.9611, Arm: 100.417},
		{Block: 2, Base: 87.3279, Arm: 100.643},
		{Block: 3, Base: 87.2554, Arm: 100.866},
	}, Lower)
	fmt.Printf("%s: %+.1f %% (%.1f, %.1f)\n", v.Kind, 100*v.Change, 100*v.Low, 100*v.High)
	// Output: worse: +15.0 % (13.9, 16.1)
}
