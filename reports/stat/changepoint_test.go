package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The largest t by the definition of the two-sample test, for each split.
func TestLargest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 4; n < 15; n++ {
		v := make([]float64, n)
		for i := range v {
			v[i] = 10 + r.NormFloat64()
		}
		want, at := 0.0, 0
		for k := Leash; k <= n-Leash; k++ {
			a, b := Describe(v[:k]), Describe(v[k:])
			s := math.Sqrt((float64(k-1)*a.SD*a.SD + float64(n-k-1)*b.SD*b.SD) / float64(n-2))
			if x := math.Abs(a.Mean-b.Mean) / (s * math.Sqrt(1/float64(k)+1/float64(n-k))); x > want {
				want, at = x, k
			}
		}
		split, got := largest(v)
		if split != at || math.Abs(got-want) > 1e-9*want {
			t.Errorf("n = %d: split %d, t %v; want %d, %v", n, split, got, at, want)
		}
	}
}

// For four values only one split is possible, and the null distribution is
// Student's with two degrees of freedom: 4.303 is its 95 % point.
func TestChanceOfFour(t *testing.T) {
	f := finder{null: map[null][]float64{}}
	if p := f.chance(4, 1, 4.303); math.Abs(p-2*0.05) > 0.014 {
		t.Errorf("p of 4.303 is %v, want twice 0.05, for two tests", p)
	}
}

func TestChangePoints(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []float64
		want   []int
	}{
		{"none", nil, nil},
		{"few", []float64{1, 1, 2}, nil},
		{"all the same", []float64{7.3, 7.3, 7.3, 7.3, 7.3, 7.3}, nil},
		{"same but for the last bit", []float64{0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2, 0.3, 0.3}, nil},
		{"step without noise", []float64{1, 1, 1, 2, 2, 2}, []int{3}},
		{"step", []float64{1, 1.01, 0.99, 1.02, 1.3, 1.29, 1.31, 1.28}, []int{4}},
		{"there and back", []float64{1, 1.01, 0.99, 1.02, 1.3, 1.29, 1.31, 1.28, 1.01, 1, 0.98, 1}, []int{4, 8}},
		{"one outlier", []float64{1, 1.01, 0.99, 1.02, 1.5, 1.0, 1.01, 0.99, 1.02}, nil},
		{"the last alone", []float64{1, 1.01, 0.99, 1.02, 1, 0.99, 1.5}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []int
			for _, c := range ChangePoints(tt.values, 0.05) {
				got = append(got, c.At)
				if !(c.Low <= c.Diff && c.Diff <= c.High) {
					t.Errorf("interval %v, %v of %v", c.Low, c.High, c.Diff)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("change points (-want +got):\n%s", d)
			}
		})
	}
}

// changeNoise are the sequences of the table in the doc of ChangePoints.
var changeNoise = []struct {
	name string
	next func(r *rand.Rand, before float64) float64
	most float64 // of false change points, for n = 6, 12 and 40
}{
	{"normal", func(r *rand.Rand, _ float64) float64 { return r.NormFloat64() }, 0.07},
	{"lognormal", func(r *rand.Rand, _ float64) float64 { return math.Exp(0.5 * r.NormFloat64()) }, 0.09},
	{"bimodal", func(r *rand.Rand, _ float64) float64 { return float64(r.IntN(2)) + 0.05*r.NormFloat64() }, 0.09},
	{"heavy tails", func(r *rand.Rand, _ float64) float64 {
		chi := 0.0
		for range 3 {
			x := r.NormFloat64()
			chi += x * x
		}
		return r.NormFloat64() / math.Sqrt(chi/3)
	}, 0.09},
	{"each like the one before it", func(r *rand.Rand, before float64) float64 { return 0.5*before + r.NormFloat64() }, 1},
}

// TestChangePointsSimulated holds the rate of false change points, and of true
// ones that are found: a change of three standard deviations in the middle of 12
// runs. With -v it prints the table.
func TestChangePointsSimulated(t *testing.T) {
	trials := 2000
	if testing.Short() {
		trials = 300
	}
	nulls := map[null][]float64{} // shared: it takes most of the time
	find := func(v []float64) []int {
		f := finder{values: v, level: 0.05, null: nulls}
		f.search(0, len(v))
		return f.at
	}
	for i, noise := range changeNoise {
		for _, n := range []int{6, 12, 40} {
			r := rand.New(rand.NewPCG(uint64(i), uint64(n)))
			falsely := 0
			for range trials {
				v := make([]float64, n)
				before := 0.0
				for j := range v {
					v[j] = noise.next(r, before)
					before = v[j]
				}
				if len(find(v)) > 0 {
					falsely++
				}
			}
			rate := float64(falsely) / float64(trials)
			t.Logf("%-28s n = %2d: %4.1f %%", noise.name, n, 100*rate)
			most := noise.most
			if testing.Short() { // so few say as much only within their standard error
				most += 2 * math.Sqrt(most*(1-most)/float64(trials))
			}
			if rate > most {
				t.Errorf("%s, n = %d: %.1f %% false change points, more than %.0f %%", noise.name, n, 100*rate, 100*noise.most)
			}
		}
	}
	r := rand.New(rand.NewPCG(9, 9))
	found, exact := 0, 0
	for range trials {
		v := make([]float64, 12)
		for j := range v {
			v[j] = r.NormFloat64()
			if j >= 6 {
				v[j] += 3
			}
		}
		if at := find(v); len(at) > 0 {
			found++
			if at[0] == 6 {
				exact++
			}
		}
	}
	t.Logf("a change of 3 sd among 12: found in %.1f %%, at its place in %.1f %%", 100*float64(found)/float64(trials), 100*float64(exact)/float64(trials))
	if float64(found) < 0.9*float64(trials) || float64(exact) < 0.7*float64(trials) {
		t.Errorf("a change of 3 sd among 12 was found in %d of %d, at its place in %d", found, trials, exact)
	}
}
