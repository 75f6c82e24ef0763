package stat

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// ChangePoint is where a sequence of values changes its level.
type ChangePoint struct {
	At        int     // index of the first value after the change
	Diff      float64 // mean after less mean before, within the neighbouring changes
	Low, High float64 // 95 % t interval of Diff
	P         float64 // of the test that found it
}

// Leash is the fewest values on each side of a change: one alone is an outlier,
// and says so only when the next has come.
const Leash = 2

// leastStretch is the fewest values of a stretch within, and on each side of it:
// there are many short stretches, and in noise with heavy tails two outliers that
// meet make one of them.
const leastStretch = 4

// nullDraws is how many sequences without a change a p is counted in, so that
// none is below 1e-4.
const nullDraws = 9999

// ChangePoints finds where values, in the order of time, change their level.
//
// The split with the largest two-sample t is tested against what such a maximum
// is in values without a change (Worsley, J. Am. Statist. Ass. 74, 1979). Where
// it does not stand, the same is done for the stretch within that differs most
// from what is around it, which a change there and back makes and no single
// split shows (Levin and Kline, Statist. Med. 4, 1985). Where one of them
// stands, the parts are searched in turn (binary segmentation, Vostrikova, Sov.
// Math. Dokl. 24, 1981). The null distributions have no free parameter; they are
// counted in normal sequences with a fixed seed, so the same values give the
// same answer. Each test is held to half of the level; P is doubled for that.
//
// A permutation test, as E-divisive has it, would ask nothing of the noise; its
// price is that eight runs are the fewest that can show anything at 5 %, and a
// dozen conditions want a dozen runs. False change points, in % of 2000
// sequences without one (standard error 0.5), at a level of 5 %:
//
//	noise                         n = 6   n = 12   n = 40
//	normal                         2.6     5.3      4.0
//	lognormal (sd 0.5)             2.5     5.3      7.3
//	bimodal                        8.7     5.2      3.5
//	heavy tails (t, 3 df)          2.2     4.5      8.7
//	like the one before (r = 0.5)  6.8    26.8     54.9
//
// A change of three standard deviations in the middle of 12 was found in 91 %.
// The last row is what it does not promise: runs whose noise resembles that of
// the run before look like steps, and a host that drifts for days makes such
// runs.
func ChangePoints(values []float64, level float64) []ChangePoint {
	f := finder{values: values, level: level, null: map[null][]float64{}}
	f.search(0, len(values))
	slices.Sort(f.at)
	out := make([]ChangePoint, len(f.at))
	for i, at := range f.at {
		from, to := 0, len(values)
		if i > 0 {
			from = f.at[i-1]
		}
		if i+1 < len(f.at) {
			to = f.at[i+1]
		}
		out[i] = ChangePoint{At: at, P: f.p[at]}
		out[i].Diff, out[i].Low, out[i].High = difference(values[from:at], values[at:to])
	}
	return out
}

type finder struct {
	values []float64
	level  float64
	null   map[null][]float64 // maxima without a change, sorted
	at     []int
	p      map[int]float64
}

// search looks within values[from:to].
func (f *finder) search(from, to int) {
	n := to - from
	if n < 2*Leash {
		return
	}
	v := f.values[from:to]
	var cuts []int
	var p float64
	split, t := largest(v)
	if split == 0 {
		return
	}
	if p = f.chance(n, 1, t); p <= f.level {
		cuts = []int{split}
	} else {
		i, j, t := largestStretch(v)
		if j == 0 {
			return
		}
		if p = f.chance(n, 2, t); p > f.level {
			return
		}
		cuts = []int{i, j}
	}
	if f.p == nil {
		f.p = map[int]float64{}
	}
	last := from
	for _, c := range cuts {
		at := from + c
		f.at, f.p[at] = append(f.at, at), p
		f.search(last, at)
		last = at
	}
	f.search(last, to)
}

// largest gives the split with the largest two-sample t, as an index of the
// first value after it; 0 where all values are the same.
func largest(v []float64) (split int, t float64) {
	sums, total, ok := centred(v)
	if !ok {
		return 0, 0
	}
	// The squares between two parts, out of all: t² grows with them.
	n, best := len(v), 0.0
	for k := Leash; k <= n-Leash; k++ {
		if between := sums[k] * sums[k] * (1/float64(k) + 1/float64(n-k)); between > best {
			best, split = between, k
		}
	}
	return split, student(best, total, n)
}

// largestStretch gives the stretch v[i:j] within that differs most from what is
// around it, by the largest two-sample t. j is 0 where all values are the same
// or too few.
func largestStretch(v []float64) (i, j int, t float64) {
	sums, total, ok := centred(v)
	if !ok {
		return 0, 0, 0
	}
	n, best := len(v), 0.0
	if n < 3*leastStretch {
		return 0, 0, 0
	}
	for a := leastStretch; a <= n-2*leastStretch; a++ {
		for b := a + leastStretch; b <= n-leastStretch; b++ {
			k := float64(b - a)
			d := sums[b] - sums[a]
			if between := d * d * (1/k + 1/(float64(n)-k)); between > best {
				best, i, j = between, a, b
			}
		}
	}
	return i, j, student(best, total, n)
}

// centred gives the sums of the first values less their mean, and the squares
// about it; ok is false where all values are the same.
func centred(v []float64) (sums []float64, total float64, ok bool) {
	n := float64(len(v))
	var mean, size float64
	for _, x := range v {
		mean += x / n
		size = max(size, math.Abs(x))
	}
	sums = make([]float64, len(v)+1)
	for i, x := range v {
		sums[i+1] = sums[i] + x - mean
		total += (x - mean) * (x - mean)
	}
	return sums, total, total > n*rounding*rounding*size*size
}

// student gives t from the squares between two parts of n values, out of all.
func student(between, total float64, n int) float64 {
	within := total - between
	if within <= total*1e-18 {
		return math.Inf(1)
	}
	return math.Sqrt(between / (within / float64(n-2)))
}

// null names a null distribution: of a number of values, for so many cuts.
type null struct{ n, cuts int }

// chance gives the probability of a t so large in n values without a change,
// twice, since there are two such tests.
func (f *finder) chance(n, cuts int, t float64) float64 {
	k := null{n, cuts}
	if f.null[k] == nil {
		f.null[k] = nullMaxima(k)
	}
	all := f.null[k]
	i, _ := slices.BinarySearch(all, t)
	return min(1, 2*float64(len(all)-i+1)/float64(len(all)+1))
}

// nullMaxima gives the largest t of normal sequences without a change, sorted.
func nullMaxima(k null) []float64 {
	r := rand.New(rand.NewPCG(uint64(k.n), 0x6368616e6765))
	out := make([]float64, nullDraws)
	v := make([]float64, k.n)
	for i := range out {
		for j := range v {
			v[j] = r.NormFloat64()
		}
		if k.cuts == 1 {
			_, out[i] = largest(v)
		} else {
			_, _, out[i] = largestStretch(v)
		}
	}
	slices.Sort(out)
	return out
}

// difference gives the means' difference with its t interval, from the spread of
// both parts together.
func difference(before, after []float64) (diff, low, high float64) {
	a, b := Describe(before), Describe(after)
	diff = b.Mean - a.Mean
	df := a.N + b.N - 2
	if df < 1 {
		return diff, math.NaN(), math.NaN()
	}
	squares := 0.0
	for _, s := range []Summary{a, b} {
		if s.N > 1 {
			squares += float64(s.N-1) * s.SD * s.SD
		}
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(df)}.Quantile((1 + Confidence) / 2)
	half := t * math.Sqrt(squares/float64(df)*(1/float64(a.N)+1/float64(b.N)))
	return diff, diff - half, diff + half
}
