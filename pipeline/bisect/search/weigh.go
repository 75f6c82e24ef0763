package search

import "math"

// What is believed before the first sample of the three stories: nothing
// changed, one commit changed the metric, two did. Who starts a bisection has
// seen a difference; how often a range of 1,000 commits holds two changes of
// one metric, nobody knows.
const (
	priorNone = 0.1
	priorTwo  = 0.03
	priorOne  = 1 - priorNone - priorTwo
)

// pair is the story of two culprits, from one class each.
type pair struct {
	a, b int // classes
	fit  fit
	log  float64 // evidence times prior
}

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
	logs := make([]float64, 0, len(s.classes)+1)
	for len(s.none.bad) < len(s.sites) {
		s.none.bad = append(s.none.bad, 0)
	}
	s.explain(&s.none, 1)
	logs = append(logs, math.Log(priorNone)+s.none.fit.log)
	for _, c := range s.classes {
		s.explain(c, 2)
		logs = append(logs, math.Log(priorOne*c.prior/total)+c.fit.log)
	}
	top := 0
	for k := range s.classes {
		if logs[k+1] > logs[top+1] {
			top = k
		}
	}
	s.pairs = s.pairs[:0]
	if len(s.samples) >= minTwo {
		s.couple(top, total)
	}
	for i := range s.pairs {
		logs = append(logs, s.pairs[i].log)
	}
	all := logSum(logs)
	s.mass.none = math.Exp(logs[0] - all)
	for k := range s.classes {
		s.mass.one[k] = math.Exp(logs[k+1] - all)
	}
	for i := range s.pairs {
		share := math.Exp(logs[len(s.classes)+1+i] - all)
		s.mass.pairs = append(s.mass.pairs, share)
		s.mass.two += share
	}
}

func (s *Search) explain(c *class, columns int) {
	for len(c.soft) < len(s.samples) {
		c.soft = append(c.soft, 1)
	}
	s.m.soften(&c.fit, s.samples, len(s.blocks), c.bad, columns, c.soft)
}

// minTwo is from how many samples on a second change is thought of: fewer
// cannot show three levels and the noise.
const minTwo = 5

// couple fits two culprits: one of the class that alone explains the samples
// best, and one of each other class.
func (s *Search) couple(top int, total float64) {
	pattern := make([]uint8, len(s.sites))
	for k, c := range s.classes {
		if k == top {
			continue
		}
		for i := range pattern {
			pattern[i] = s.classes[top].bad[i] | c.bad[i]<<1
		}
		p := pair{a: top, b: k}
		soft := make([]float64, len(s.samples))
		for i := range soft {
			soft[i] = 1
		}
		s.m.soften(&p.fit, s.samples, len(s.blocks), pattern, 3, soft)
		p.log = math.Log(2*priorTwo*s.classes[top].prior/total*c.prior/total) + p.fit.log
		s.pairs = append(s.pairs, p)
	}
}

// posterior is the probability of each candidate to be a culprit, alone or as
// one of two.
func (s *Search) posterior() []float64 {
	s.update()
	weight := make([]float64, len(s.classes))
	copy(weight, s.mass.one)
	for i, p := range s.pairs {
		weight[p.a] += s.mass.pairs[i]
		weight[p.b] += s.mass.pairs[i]
	}
	out := make([]float64, len(s.old))
	for i, k := range s.class {
		if k >= 0 {
			out[i] = weight[k] * s.prior[i] / s.classes[k].prior
		}
	}
	return out
}
