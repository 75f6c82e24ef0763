package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
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

// Shape says how the values of a metric are made, and so how they scatter.
type Shape int

// The shapes.
const (
	// Level is what many requests of a boot make together: a runtime, a rate,
	// a mean, a median.
	Level Shape = iota
	// Tail is what the worst few of a boot make: a maximum, a high percentile.
	// A boot is a block in the sense of extreme-value theory, and its maximum
	// one value, never near normal: a claim needs ranks, and those six pairs.
	Tail
)

// Metric is what the comparison must know of a metric.
type Metric struct {
	Direction  Direction
	Shape      Shape
	Resolution float64 // smallest step the values can show, in their unit; 0 if unknown
	// Looks is at how many times at most a run that repeats by itself may stop;
	// 0 and 1 are for a run with a fixed number of blocks. See [Auto].
	Looks int

	quiet float64 // smallest standard deviation of a log ratio that is believed; see Judge
	table table   // what was computed before, where many are compared; or nil
}

// table keeps what depends on the number of pairs and the level alone. It is
// for one goroutine.
type table map[tableKey]tableEntry

type tableKey struct {
	n         int
	df, level float64
}

// tableEntry is a critical value of t with the mean that is seen by it (see
// effect), or one of F.
type tableEntry struct{ t, effect, f float64 }

func (m Metric) entry(n int, df, level float64) tableEntry {
	k := tableKey{n, df, level}
	e, ok := m.table[k]
	if !ok {
		e = tableEntry{t: tQuantile(df, level), effect: effect(n, df, level)}
		if m.table != nil {
			m.table[k] = e
		}
	}
	return e
}

func (m Metric) looks() float64 { return float64(max(1, m.Looks)) }

// level is the coverage that each look's interval must have, so that all of
// them together have Confidence (Bonferroni).
func (m Metric) level() float64 { return 1 - (1-Confidence)/m.looks() }

// Compare judges an arm against the baseline from what each block gave. Pairs
// with a missing value (NaN) are left out, with a warning. The verdict does
// not depend on the order of the pairs. [FDR] has the last word on claims.
func (m Metric) Compare(pairs []Pair) Verdict {
	nan := math.NaN()
	v := Verdict{Change: nan, Low: nan, High: nan, MDE: nan, P: nan, Q: nan, Level: m.level()}
	pairs = v.complete(pairs)
	v.N = len(pairs)
	v.Scale = scale(pairs)
	if v.Scale == Difference && size(Difference, pairs) > 0 {
		v.warn("values at or below zero have no ratio: compared by difference")
	}
	d := make([]float64, len(pairs))
	limited := 0
	for i, p := range pairs {
		d[i] = v.Scale.distance(p)
		if p.BaseKnown != Exact || p.ArmKnown != Exact {
			limited++
		}
	}
	s := Describe(d)
	if v.N > 0 {
		v.Change = v.Scale.change(s.Mean)
	}
	apart := outlier(d, outlierLevel)
	if limited == len(pairs) {
		apart = -1
	}
	switch {
	case v.N < 2:
	case limited > 0:
		v.warn("in %d of %d blocks a run was stopped at its limit: its value counts as that or beyond, by ranks", limited, v.N)
		v.ranks(m, pairs)
	case m.Shape == Tail:
		v.ranks(m, pairs)
	case apart >= 0 && v.N >= fewestRanks(m.level()):
		v.ranks(m, pairs)
	default:
		v.judge(m, pairs, s)
	}
	switch {
	case v.N < minPairs:
		v.Kind, v.Why = Undecided, FewPairs
	case v.N < fewPairs && v.Method != ByRanks:
		v.warn("n = %d: with fewer than %d pairs the interval rests on the noise being near normal", v.N, fewPairs)
	}
	if apart >= 0 {
		how := "it is kept"
		if v.Method == ByRanks {
			how = "it is kept, and ranks were compared, which it cannot move far"
		}
		v.warn("block %d stands apart from the others (Grubbs' test at 1 %%); %s", pairs[apart].Block, how)
	}
	v.doubts(pairs, d)
	return v
}

// fewestRanks gives the fewest pairs whose signs alone can reach a level:
// 2 / 2^n.
func fewestRanks(level float64) int {
	return int(math.Ceil(1 - math.Log2(1-level) - 1e-9))
}

// ranks sets interval, p, MDE and kind by signed ranks.
func (v *Verdict) ranks(m Metric, pairs []Pair) {
	v.Method = ByRanks
	d := make([]bound, len(pairs))
	same := true
	for i, p := range pairs {
		d[i] = v.Scale.bound(p)
		same = same && d[i] == bound{}
	}
	middle, low, high, p := signedRanks(d, m.level())
	v.Change, v.Low, v.High = v.Scale.change(middle), v.Scale.change(low), v.Scale.change(high)
	v.P = min(1, p*m.looks())
	v.Q = v.P
	switch need := fewestRanks(m.level()); {
	case same:
		v.Low, v.High, v.P, v.Q, v.MDE = 0, 0, 1, 1, math.NaN()
		v.Kind = NoChange
		v.warn("both arms gave the same value in every block")
		return
	case v.N < need:
		v.Kind, v.Why = Undecided, FewRanks
		v.MDE = math.Inf(1)
		v.warn("%d pairs have no interval by ranks, which maxima, high percentiles and runs stopped at their limit need: %d would", v.N, need)
		return
	}
	// The interval has the width of a t interval with this standard deviation.
	e := m.entry(v.N, float64(v.N-1), m.level())
	sd := (high - low) / 2 * math.Sqrt(float64(v.N)) / e.t
	v.MDE = v.Scale.change(e.effect * sd)
	v.decide(m, middle, pairs)
}

// decide sets the kind from the interval and p.
func (v *Verdict) decide(m Metric, middle float64, pairs []Pair) {
	switch {
	case (v.Low > 0 || v.High < 0) && v.P <= 1-Confidence+1e-12:
		v.claim(m.Direction, middle)
	case !(v.Scale.relative(v.MDE, pairs) <= WorthSeeing):
		v.Kind, v.Why = Undecided, Noise
	default:
		v.Kind = NoChange
	}
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

// bound gives between which distances that of a pair lies.
func (s Scale) bound(p Pair) bound {
	d := s.distance(p)
	b := bound{d, d}
	if p.ArmKnown == AtLeast || p.BaseKnown == AtMost {
		b.high = math.Inf(1)
	}
	if p.ArmKnown == AtMost || p.BaseKnown == AtLeast {
		b.low = math.Inf(-1)
	}
	return b
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
