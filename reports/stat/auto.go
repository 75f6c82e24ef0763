package stat

import (
	"fmt"
	"math"
	"sort"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// Auto is the rule of a run that adds blocks until it has decided, or until
// its budget ends.
//
// Such a run looks at its verdicts after 3, 5, 7, 10, 15, 22, ... blocks, each
// time half as many again, and stops at the first look at which nothing is
// undecided. Who looks K times has K chances to be wrong; so every look is
// held to a level of 5 % / K ([Metric.Looks]), and whichever of them is the
// last, the chance of a false claim is 5 % at most, and so is the
// false-discovery rate: at each look it is held to 5 % / K too, and the
// expectations add up. This asks nothing of how the looks depend on each
// other, so it holds for every noise for which one look holds. The price
// against a fixed number of blocks is the wider interval: 1.5 to 2 times as
// wide at n = 5 and K = 6, and less with more blocks.
//
// Where blocks end for want of time, what there is counts as a look of its
// own: it stands for the next one that was planned.
type Auto struct {
	Most int // blocks, at least 3
	// See is the change that "no change" must be able to see before the run
	// stops, as a share; 0 for WorthSeeing.
	See float64
}

func (a Auto) see() float64 {
	if a.See == 0 {
		return WorthSeeing
	}
	return a.See
}

// open says whether more blocks are to decide on a verdict.
func (a Auto) open(v Verdict) bool {
	switch v.Kind {
	case NoChange:
		return v.Scale == Ratio && v.MDE > a.see()
	case Undecided:
		return v.Why != Control
	}
	return false
}

// Looks gives the numbers of blocks after which the run looks.
func (a Auto) Looks() []int {
	var out []int
	for n := minPairs; n < a.Most; n = max(n+2, n*3/2) {
		out = append(out, n)
	}
	return append(out, max(a.Most, minPairs))
}

// Step is what to do after a look.
type Step struct {
	Next int    // the number of blocks at the next look; 0 to stop
	Why  string // one sentence for the report
}

// hopelessFrom is from how many blocks on the noise is known well enough to
// give up.
const hopelessFrom = 8

// After says how to go on after so many whole blocks with these verdicts (of
// all comparisons that are to be decided). perBlock is what a block takes,
// left what is left of the budget; zero for no budget in time.
func (a Auto) After(blocks int, vs []Verdict, perBlock, left time.Duration) Step {
	open, hopeless, need := 0, 0, 0
	for _, v := range vs {
		if !a.open(v) {
			continue
		}
		open++
		if n := v.need(a.Most, a.see()); n > a.Most {
			hopeless++
		} else {
			need = max(need, n)
		}
	}
	looks := a.Looks()
	next := 0
	for _, n := range looks {
		if n > blocks {
			next = n
			break
		}
	}
	switch {
	case open == 0:
		return Step{0, fmt.Sprintf("every comparison was decided after %d blocks", blocks)}
	case next == 0:
		return Step{0, fmt.Sprintf("the budget of %d blocks ended with %d undecided", a.Most, open)}
	case blocks >= hopelessFrom && hopeless == open:
		return Step{0, fmt.Sprintf("stopped after %d blocks: at the noise seen, more repeats up to the budget of %d would not decide the %d that are open", blocks, a.Most, open)}
	case left < 0 || left > 0 && perBlock > 0 && time.Duration(next-blocks)*perBlock > left:
		return Step{0, fmt.Sprintf("the budget of time ended after %d blocks with %d undecided; the next look would have been at %d", blocks, open, next)}
	}
	s := Step{next, fmt.Sprintf("%d undecided after %d blocks", open, blocks)}
	if need > 0 {
		s.Why += fmt.Sprintf("; about %d would decide", max(need, next))
	}
	return s
}

// need gives how many blocks would see a change of so much with 80 %
// probability, or most+1 where most would not. The spread of few blocks is
// known badly, so its lower 90 % bound is taken: to give up is final.
func (v Verdict) need(most int, see float64) int {
	if v.Why != Noise && v.Kind != NoChange || v.Scale != Ratio || !(v.MDE > 0) || math.IsInf(v.MDE, 0) {
		return min(v.N+1, most)
	}
	sd, df := v.SD, v.DF
	if sd == 0 { // by ranks, as wide as a t interval with this
		df = float64(v.N - 1)
		sd = math.Log1p(v.MDE) / effect(v.N, df, v.Level)
	}
	sd *= math.Sqrt(df / distuv.ChiSquared{K: df}.Quantile(0.9))
	// More pairs see smaller changes.
	return v.N + sort.Search(most-v.N+1, func(more int) bool {
		return effect(v.N+more, float64(v.N+more-1), v.Level)*sd <= math.Log1p(see)
	})
}
