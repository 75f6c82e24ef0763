package search

import (
	"cmp"
	"math"
	"slices"
)

// pair is the story of two culprits, from one class each.
type pair struct {
	a, b int // classes
	fit  fit
	log  float64 // evidence times prior
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
