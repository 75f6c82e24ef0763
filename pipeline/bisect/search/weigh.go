package search

import (
	"math"
	"slices"
)

// What is believed before the first sample of the three stories: nothing
// changed, one commit changed the metric, two did. Who starts a bisection has
// seen a difference; how often a range of 1,000 commits holds two changes of
// one metric, nobody knows.
const (
	priorNone = 0.1
	priorTwo  = 0.1
	priorOne  = 1 - priorNone - priorTwo
)

// doubt is the probability of no change from which on the ends are booted
// before anything else, and at which the search ends once they have shown that
// what is worth finding is not there.
const doubt = 0.3

// certain is the probability of no change above which no commit is named,
// however likely it is: 5 % would be left if a change were not expected.
const certain = 0.005

// shares are posterior probabilities; all together are 1.
type shares struct {
	none  float64
	one   []float64 // per class
	two   float64
	pairs []float64 // per pair, their sum is two
}

// update fits every explanation to the samples and weighs them.
func (s *Search) update() {
	if !s.stale {
		return
	}
	s.stale = false
	s.mass = shares{one: make([]float64, len(s.classes))}
	var total float64
	for _, c := range s.classes {
		total += c.prior
	}
	if len(s.samples) == 0 {
		s.mass.none = priorNone / (1 - priorTwo)
		for k, c := range s.classes {
			s.mass.one[k] = (1 - s.mass.none) * c.prior / total
		}
		return
	}
	n := len(s.samples)
	for len(s.none.bad) < len(s.sites) {
		s.none.bad = append(s.none.bad, 0)
	}
	s.explain(&s.none, 1)
	logs := []float64{math.Log(priorNone) + s.none.fit.log}
	// The best of before may be gone, cleared by an alias: then what was far
	// behind it counts again.
	all := !slices.ContainsFunc(s.classes, func(c *class) bool { return !c.hopeless(n) })
	top, best := -1, math.Inf(-1)
	for k, c := range s.classes {
		if all || !c.hopeless(n) {
			s.explain(c, 2)
			c.log = math.Log(priorOne*c.prior/total) + c.fit.log
			c.fitted = n
			if c.log > best {
				top, best = k, c.log
			}
		}
	}
	top, best = s.refine(top, best, total)
	for _, c := range s.classes {
		if c.fitted == n {
			c.behind = best - c.log
		}
		logs = append(logs, best-c.behind)
	}
	s.couple(top, total)
	for i := range s.pairs {
		logs = append(logs, s.pairs[i].log)
	}
	sum := logSum(logs)
	s.mass.none = math.Exp(logs[0] - sum)
	for k := range s.classes {
		s.mass.one[k] = math.Exp(logs[k+1] - sum)
	}
	for i := range s.pairs {
		share := math.Exp(logs[len(s.classes)+1+i] - sum)
		s.mass.pairs = append(s.mass.pairs, share)
		s.mass.two += share
	}
	if !s.suspect && s.mass.two > suspicious {
		s.suspect = true
		s.stale = true
		s.update()
	}
}

// near is how far behind the best a class may be and is still fitted to the end.
const near = 30

// refine fits the best class to the end, and those near it, and gives the best
// then. One round of fitting, which is all that most classes get of many samples,
// is a bound that the next outlier moves by more than what tells one culprit from
// two. The start that is all normal comes beside the one of last time, which may
// be stuck with outliers that were none.
func (s *Search) refine(top int, best, total float64) (int, float64) {
	n := len(s.samples)
	if n <= fewSamples {
		return top, best
	}
	done := make([]bool, len(s.classes))
	for {
		next := -1
		for k, c := range s.classes {
			if !done[k] && c.fitted == n && c.log > best-near && (next < 0 || c.log > s.classes[next].log) {
				next = k
			}
		}
		if next < 0 {
			return top, best
		}
		done[next] = true
		c := s.classes[next]
		fresh := make([]float64, n)
		for i := range fresh {
			fresh[i] = 1
		}
		for _, soft := range [][]float64{slices.Clone(c.soft), fresh} {
			var f fit
			s.m.soften(&f, s.samples, len(s.blocks), c.bad, 2, soft, rounds)
			if f.log > c.fit.log {
				c.fit = f
				copy(c.soft, soft)
			}
		}
		c.log = math.Log(priorOne*c.prior/total) + c.fit.log
		if c.log > best {
			top, best = next, c.log
		}
	}
}

// roles are the probabilities of each class to hold the culprit, or the one of
// the larger change of two, and to hold the other one.
func (s *Search) roles() (first, second []float64) {
	first = slices.Clone(s.mass.one)
	second = make([]float64, len(s.classes))
	for i := range s.pairs {
		p := &s.pairs[i]
		a, b := p.a, p.b
		if p.larger() == 2 {
			a, b = b, a
		}
		first[a] += s.mass.pairs[i]
		second[b] += s.mass.pairs[i]
	}
	return first, second
}

// fewSamples is up to how many every class is fitted to the end.
const fewSamples = 30

// explain fits one class. With many samples one more changes little for most of
// them, and one round is enough; see refine.
func (s *Search) explain(c *class, columns int) {
	n := len(s.samples)
	for len(c.soft) < n {
		c.soft = append(c.soft, 1)
	}
	if n > fewSamples && n%8 != 0 {
		s.m.soften(&c.fit, s.samples, len(s.blocks), c.bad, columns, c.soft, 1)
		return
	}
	s.m.settle(&c.fit, s.samples, len(s.blocks), c.bad, columns, c.soft)
}

// hopeless says that a class was far behind the best when it was last fitted,
// and that this was not long ago. Its distance is taken to be the same still.
func (c *class) hopeless(n int) bool {
	return c.fitted > 0 && c.behind > 20 && n-c.fitted < 4+n/16
}

// posterior is the probability of each candidate to be a culprit, alone or as
// one of two.
func (s *Search) posterior() []float64 {
	s.update()
	weight := slices.Clone(s.mass.one)
	for i, p := range s.pairs {
		weight[p.a] += s.mass.pairs[i]
		weight[p.b] += s.mass.pairs[i]
	}
	return s.spread(weight)
}

// spread gives each candidate its part of its class's weight.
func (s *Search) spread(weight []float64) []float64 {
	out := make([]float64, len(s.old))
	for i, k := range s.class {
		if k >= 0 {
			out[i] = weight[k] * s.prior[i] / s.classes[k].prior
		}
	}
	return out
}
