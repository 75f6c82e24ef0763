package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// WorthSeeing is the change that "no change" must be able to see: where
	// the noise could hide more, the comparison is undecided. 10 % is what
	// maintainers have called too much to lose in simple cases (Kara on
	// writeback throttling, 2016).
	WorthSeeing = 0.10

	// minPairs is the fewest pairs that can decide. Two give one degree of
	// freedom: the interval is then 12.7 standard errors to each side and
	// rests on a single difference.
	minPairs = 3

	// fewPairs is where warnings about small samples end: from six pairs on
	// even a test by signs alone can reach 5 % (2 / 2^6).
	fewPairs = 6

	outlierLevel = 0.01

	// rounding is the relative spread below which values are taken as equal:
	// what the last bits of a float64 give is no noise of a machine.
	rounding = 1e-12
)

// Compare judges an arm against the baseline; see [Metric.Compare].
func Compare(pairs []Pair, d Direction) Verdict {
	return Metric{Direction: d}.Compare(pairs)
}

// Metric is what the comparison must know of a metric.
type Metric struct {
	Direction  Direction
	Resolution float64 // smallest step the values can show, in their unit; 0 if unknown
}

// Compare judges an arm against the baseline from what each block gave. Pairs
// with a missing value (NaN) are left out, with a warning. The verdict does
// not depend on the order of the pairs. [FDR] has the last word on claims.
func (m Metric) Compare(pairs []Pair) Verdict {
	nan := math.NaN()
	v := Verdict{Change: nan, Low: nan, High: nan, MDE: nan, P: nan, Q: nan}
	pairs = v.complete(pairs)
	v.N = len(pairs)
	v.Scale = scale(pairs)
	if v.Scale == Difference && size(Difference, pairs) > 0 {
		v.warn("values at or below zero have no ratio: compared by difference")
	}
	d := make([]float64, len(pairs))
	for i, p := range pairs {
		d[i] = v.Scale.distance(p)
	}
	s := Describe(d)
	if v.N > 0 {
		v.Change = v.Scale.change(s.Mean)
	}
	if v.N >= 2 {
		v.judge(m, pairs, s)
	}
	switch {
	case v.N < minPairs:
		v.Kind, v.Why = Undecided, FewPairs
	case v.N < fewPairs:
		v.warn("n = %d: with fewer than %d pairs the interval rests on the noise being near normal", v.N, fewPairs)
	}
	if i := outlier(d, outlierLevel); i >= 0 {
		v.warn("block %d stands apart from the others (Grubbs' test at 1 %%); it is kept", pairs[i].Block)
	}
	return v
}

// judge sets interval, p, MDE and kind from at least two distances.
func (v *Verdict) judge(m Metric, pairs []Pair, s Summary) {
	sd, mean := s.SD, s.Mean
	magnitude := size(v.Scale, pairs)
	if sd <= rounding*magnitude {
		sd = 0
	}
	if math.Abs(mean) <= rounding*magnitude {
		mean = 0
	}
	if floor := v.Scale.floor(m.Resolution, pairs); sd < floor && magnitude > 0 {
		sd = floor
		v.warn("spread is below the metric's resolution: the interval is that of the resolution")
	}
	switch {
	case sd == 0 && mean == 0:
		v.Change, v.Low, v.High, v.MDE, v.P = 0, 0, 0, math.NaN(), 1
		v.Kind = NoChange
		v.warn("both arms gave the same value in every block")
	case sd == 0:
		// A t interval would have no width, which is a lie with few pairs.
		// What is left are the signs: n alike have the chance 2 / 2^n.
		v.Low, v.High, v.MDE = v.Change, v.Change, math.NaN()
		v.P = math.Ldexp(2, -v.N)
		v.warn("every block gave the same change: without spread only its sign counts")
		v.Kind, v.Why = Undecided, NoSpread
		if v.P <= 1-Confidence {
			v.claim(m.Direction, mean)
		}
	default:
		df := v.N - 1
		se := sd / math.Sqrt(float64(v.N))
		half := tQuantile(df) * se
		v.Low, v.High = v.Scale.change(mean-half), v.Scale.change(mean+half)
		v.P = 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(df)}.Survival(math.Abs(mean)/se)
		v.MDE = v.Scale.change(effect(v.N) * sd)
		switch {
		case v.Low > 0 || v.High < 0:
			v.claim(m.Direction, mean)
		case v.Scale.relative(v.MDE, pairs) > WorthSeeing:
			v.Kind, v.Why = Undecided, Noise
		default:
			v.Kind = NoChange
		}
	}
	v.Q = v.P
}

// claim sets the kind by the sign of a distance.
func (v *Verdict) claim(d Direction, mean float64) {
	v.Kind, v.Why = Worse, None
	if (mean < 0) == (d == Lower) {
		v.Kind = Better
	}
}

func (v *Verdict) warn(format string, args ...any) {
	v.Warnings = append(v.Warnings, fmt.Sprintf(format, args...))
}

// complete gives the pairs that have both values, in the order of blocks.
func (v *Verdict) complete(pairs []Pair) []Pair {
	var out []Pair
	var missing []string
	sorted := slices.Clone(pairs)
	slices.SortStableFunc(sorted, func(a, b Pair) int { return cmp.Compare(a.Block, b.Block) })
	for _, p := range sorted {
		if math.IsNaN(p.Base) || math.IsNaN(p.Arm) {
			missing = append(missing, fmt.Sprint(p.Block))
			continue
		}
		out = append(out, p)
	}
	switch len(missing) {
	case 0:
	case 1:
		v.warn("block %s is left out: an arm gave no value", missing[0])
	default:
		v.warn("blocks %s are left out: an arm gave no value", strings.Join(missing, ", "))
	}
	return out
}

// scale picks Ratio where every value has a logarithm.
func scale(pairs []Pair) Scale {
	for _, p := range pairs {
		if p.Base <= 0 || p.Arm <= 0 {
			return Difference
		}
	}
	return Ratio
}

// distance gives how far the arm is from the baseline, additively.
func (s Scale) distance(p Pair) float64 {
	if s == Ratio {
		return math.Log(p.Arm) - math.Log(p.Base) // the quotient could overflow
	}
	return p.Arm - p.Base
}

// change gives a distance as readers see it.
func (s Scale) change(distance float64) float64 {
	if s == Ratio {
		return math.Expm1(distance)
	}
	return distance
}

// relative gives a change on either scale as a share of the values. Where all
// values are zero there is no such share, and every change is large.
func (s Scale) relative(change float64, pairs []Pair) float64 {
	if s == Ratio {
		return change
	}
	return change / size(s, pairs)
}

// size gives the magnitude that distances are to be seen against: 1 for
// logarithms, else the larger of the arms' mean absolute values.
func size(s Scale, pairs []Pair) float64 {
	if s == Ratio {
		return 1
	}
	var base, arm float64
	for _, p := range pairs {
		base += math.Abs(p.Base) / float64(len(pairs))
		arm += math.Abs(p.Arm) / float64(len(pairs))
	}
	return max(base, arm)
}

// floor gives the standard deviation of a distance when nothing but the
// metric's steps made it: a value read to steps of r has the error of a
// uniform distribution of width r, variance r²/12, in each arm.
func (s Scale) floor(resolution float64, pairs []Pair) float64 {
	var sum float64
	for _, p := range pairs {
		a, b := resolution, resolution
		if s == Ratio {
			a, b = a/p.Arm, b/p.Base
		}
		sum += (a*a + b*b) / 12
	}
	return math.Sqrt(sum / float64(len(pairs)))
}
