package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// pairedPrice and twoPrice are what the p of the paired and of the
	// two-sample test are multiplied by, where the smaller of both counts: who
	// tries two tests has two chances to be wrong. The two agree so often that
	// less than Bonferroni's is enough. They were chosen by the simulations in
	// the package comment, and so that most of the price is paid where blocks
	// matter somewhat.
	pairedPrice = 2
	twoPrice    = 1.1

	// blocksMatter is the level of the F test for blocks: where it sees them,
	// only the paired test is tried, at no price.
	blocksMatter = 0.02
)

// way is one way to look at the distances of a comparison: how much one of
// them scatters, by how many degrees of freedom that is known, and the price of
// looking also in the other way.
type way struct {
	method        Method
	sd, df, price float64
}

// level is the coverage that the way's own interval needs.
func (w way) level(m Metric) float64 { return 1 - (1-m.level())/w.price }

// ways gives how distances with this standard deviation may be looked at: in
// pairs, and, where blocks are not seen to matter, as two samples.
func (m Metric) ways(s Scale, pairs []Pair, sd float64) []way {
	n := float64(len(pairs))
	paired := way{ByT, sd, n - 1, 1}
	if len(pairs) < minPairs {
		return []way{paired}
	}
	var base, arm, sum []float64
	for _, p := range pairs {
		b, a := p.Base, p.Arm
		if s == Ratio {
			b, a = math.Log(b), math.Log(a)
		}
		base, arm, sum = append(base, b), append(arm, a), append(sum, a+b)
	}
	// What blocks have in common shows in the sum of a pair and not in its
	// difference; without it both scatter alike.
	between := Describe(sum).SD
	if between*between > sd*sd*m.ratio(len(pairs)) {
		return []way{paired}
	}
	paired.price = pairedPrice
	// Welch's degrees of freedom: with one quiet arm they are those of pairs.
	b, a := Describe(base).SD, Describe(arm).SD
	v := b*b + a*a
	return []way{paired, {ByTwoSamples, math.Sqrt(v), (n - 1) * v * v / (b*b*b*b + a*a*a*a), twoPrice}}
}

// ratio gives how many times the variance of n differences that of the sums must
// be for blocks to matter.
func (m Metric) ratio(n int) float64 {
	k := tableKey{n: n}
	e, ok := m.table[k]
	if !ok {
		e.f = distuv.F{D1: float64(n - 1), D2: float64(n - 1)}.Quantile(1 - blocksMatter)
		if m.table != nil {
			m.table[k] = e
		}
	}
	return e.f
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
	least := 0.0
	if floor := v.Scale.floor(m.Resolution, pairs); sd < floor && magnitude > 0 {
		least = floor
		v.warn("spread is below the metric's resolution: the interval is that of the resolution")
	}
	if v.Scale == Ratio && max(sd, least) < m.quiet && v.N < fewPairs && mean != 0 {
		least = m.quiet
		v.warn("spread is far below that of the run's other comparisons by this metric, which %d pairs may show by luck: %.0f %% of their median was taken", v.N, 100*quietShare(v.N))
	}
	switch {
	case sd == 0 && least == 0 && mean == 0:
		v.Change, v.Low, v.High, v.MDE, v.P = 0, 0, 0, math.NaN(), 1
		v.Kind = NoChange
		v.warn("both arms gave the same value in every block")
	case sd == 0 && least == 0:
		// A t interval would have no width, which is a lie with few pairs.
		// What is left are the signs: n alike have the chance 2 / 2^n.
		v.Low, v.High, v.MDE = v.Change, v.Change, math.NaN()
		v.P = min(1, math.Ldexp(2, -v.N)*m.looks())
		v.warn("every block gave the same change: without spread only its sign counts")
		v.Kind, v.Why = Undecided, NoSpread
		if v.P <= 1-Confidence {
			v.claim(m.Direction, mean)
		}
	default:
		v.weigh(m, mean, least, m.ways(v.Scale, pairs, sd))
		v.decide(m, mean, pairs)
	}
	v.Q = v.P
}

// weigh takes the shorter interval of those that the ways have, and the smaller
// p. All have the mean in the middle, so the shorter one excludes zero exactly
// where the smaller p says so.
func (v *Verdict) weigh(m Metric, mean, least float64, ways []way) {
	v.P = 1
	shortest := math.Inf(1)
	for _, w := range ways {
		sd, df := w.sd, w.df
		if sd < least { // which no degrees of freedom belong to: those of pairs
			sd, df = least, float64(v.N-1)
		}
		se := sd / math.Sqrt(float64(v.N))
		p := 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Survival(math.Abs(mean)/se)
		v.P = min(v.P, p*w.price*m.looks())
		var e tableEntry
		if w.method == ByT {
			e = m.entry(v.N, df, w.level(m))
		} else {
			e.t = tQuantile(df, w.level(m))
		}
		half := e.t * se
		if half >= shortest {
			continue
		}
		shortest = half
		v.Method, v.SD, v.DF = w.method, sd, df
		v.Low, v.High = v.Scale.change(mean-half), v.Scale.change(mean+half)
		if w.method != ByT { // its degrees of freedom are never the same twice
			e.effect = effect(v.N, df, w.level(m))
		}
		v.MDE = v.Scale.change(e.effect * sd)
	}
}
