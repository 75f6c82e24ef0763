package search

import (
	"cmp"
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
	n := len(s.samples)
	for len(s.none.bad) < len(s.sites) {
		s.none.bad = append(s.none.bad, 0)
	}
	s.explain(&s.none, 1)
	logs := []float64{math.Log(priorNone) + s.none.fit.log}
	top, best := -1, math.Inf(-1)
	for k, c := range s.classes {
		if !c.hopeless(n) {
			s.explain(c, 2)
			c.log = math.Log(priorOne*c.prior/total) + c.fit.log
			c.fitted = n
			if c.log > best {
				top, best = k, c.log
			}
		}
	}
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
	if !s.suspect && s.mass.two > suspicious {
		s.suspect = true
		s.stale = true
		s.update()
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

// larger is the column, 1 or 2, of the larger change.
func (p *pair) larger() int {
	var one, two float64
	for i := range p.fit.points {
		q := &p.fit.points[i]
		one += q.share * q.mean[1]
		two += q.share * q.mean[2]
	}
	if math.Abs(two) > math.Abs(one) {
		return 2
	}
	return 1
}

// explain fits one class. With many samples one more changes little, and one
// round is enough for most of them.
func (s *Search) explain(c *class, columns int) {
	n := len(s.samples)
	for len(c.soft) < n {
		c.soft = append(c.soft, 1)
	}
	if n > 30 && n%8 != 0 {
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

const (
	// minTwo is from how many samples on a second change is thought of: fewer
	// cannot show three levels and the noise.
	minTwo = 5
	// seconds is how many places for it are looked at closely, until two changes
	// have a probability of suspicious. From then on all pairs of classes
	// are, of as many as manyClasses.
	seconds     = 3
	suspicious  = 0.2
	manyClasses = 40
)

// couple fits two culprits: one of the class that alone explains the samples
// best, and one of each of those other classes that promise most.
func (s *Search) couple(top int, total float64) {
	s.pairs = s.pairs[:0]
	n := len(s.samples)
	if n < minTwo {
		return
	}
	pattern := make([]uint8, len(s.sites))
	join := func(a, b int) {
		for i := range pattern {
			pattern[i] = s.classes[a].bad[i] | s.classes[b].bad[i]<<1
		}
	}
	prior := func(a, b int) float64 {
		return math.Log(2 * priorTwo * s.classes[a].prior / total * s.classes[b].prior / total)
	}
	best, soft := math.Inf(-1), make([]float64, n)
	add := func(a, b int) {
		join(a, b)
		p := pair{a: a, b: b}
		mine := make([]float64, n)
		for i := range mine {
			mine[i] = 1
		}
		s.m.settle(&p.fit, s.samples, len(s.blocks), pattern, 3, mine)
		p.log = prior(a, b) + p.fit.log
		s.pairs = append(s.pairs, p)
		if p.log > best {
			best, soft = p.log, mine
		}
	}
	first := s.classes[top]
	type place struct {
		class int
		score float64
	}
	var places []place
	for k, c := range s.classes {
		if k != top {
			places = append(places, place{k, s.promise(first, c)})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(b.score, a.score) })
	for _, q := range places[:min(seconds, len(places))] {
		add(top, q.class)
	}
	if !s.suspect || len(s.classes) > manyClasses || len(s.pairs) == 0 {
		return
	}
	// Where both are is to be told now, and which pairs matter is not seen from
	// the best single culprit. All are looked at, with the outliers of the best
	// one so far, and those that come near it are fitted.
	type rough struct {
		a, b int
		log  float64
	}
	var all []rough
	var p posterior
	near := math.Inf(-1)
	for a := range s.classes {
		for b := range a {
			join(a, b)
			s.m.solve(&p, s.samples, len(s.blocks), pattern, 3, soft)
			q := rough{a, b, prior(a, b) + p.log}
			near = max(near, q.log)
			all = append(all, q)
		}
	}
	known := s.pairs
	for _, q := range all {
		if q.log > near-8 && !slices.ContainsFunc(known, func(p pair) bool {
			return p.a == q.a && p.b == q.b || p.a == q.b && p.b == q.a
		}) {
			add(q.a, q.b)
		}
	}
}

// promise is about how much better the samples would be explained if a culprit
// of class c came to one of the first class: the square of the t value of what
// the first leaves unexplained, where c changes it. Blocks are left aside here.
func (s *Search) promise(first, c *class) float64 {
	// Residuals of the three groups of samples that c may cut out.
	f := &first.fit
	d := [2]quadratic{f.distance(-1, 0), f.distance(-1, 1)}
	var weight, sum [4]float64
	for i, q := range s.samples {
		x := first.bad[q.site]
		w := first.soft[i]
		at := x | c.bad[q.site]<<1
		weight[at] += w
		sum[at] += w * (q.value - d[x].b/d[x].a)
	}
	// Within each side of the first culprit the level is free, so only the
	// contrast between what c changes and what it does not counts.
	var top, bottom float64
	for x := range 2 {
		a, b := weight[x], weight[x|2]
		if a > 0 && b > 0 {
			h := a * b / (a + b)
			top += h * (sum[x|2]/b - sum[x]/a)
			bottom += h
		}
	}
	if bottom == 0 {
		return 0
	}
	return top * top / bottom * d[0].a * c.prior
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
