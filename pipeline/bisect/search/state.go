package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Kind is how far a search has come.
type Kind int

const (
	// Searching: more samples are needed.
	Searching Kind = iota
	// Found: one commit is the culprit, with the confidence asked for.
	Found
	// OneOf: it is one of several commits that nothing measurable lies
	// between.
	OneOf
	// NoDifference: the ends do not differ by as much as is worth finding.
	NoDifference
	// TwoChanges: two commits changed the metric, and both are found, alone or
	// each as one of several that cannot be told apart: that of the larger
	// change, and the other one in State.Second.
	TwoChanges
	// Stuck: an end cannot be measured.
	Stuck
)

func (k Kind) String() string {
	return [...]string{"searching", "found", "one of these", "no difference", "two changes", "stuck"}[k]
}

// State is what is known by now.
type State struct {
	Kind    Kind
	Samples int // boots so far

	// Culprits is the smallest set of commits that holds the culprit with the
	// confidence asked for, most probable first. If Kind is Found it is one;
	// if OneOf, those that cannot be told apart. Empty before the first sample.
	Culprits []int
	// Probability is that of Culprits as a whole.
	Probability float64
	// Posterior is the probability of each commit of the caller's graph to be
	// the culprit (with two changes, to be one of them).
	Posterior []float64

	// Change is the logarithm of the metric after the culprit over before it:
	// the mean, and the ends of the 95 % interval. Zero before both ends have
	// samples.
	Change, Low, High float64
	// Noise is the standard deviation of the log metric from boot to boot,
	// outliers aside.
	Noise float64
	// NoChange is the probability that nothing changed.
	NoChange float64
	// Smallest is the change between the ends that would have been seen with a
	// probability of 80 % at this noise by the samples of the ends, as a
	// logarithm. +Inf as long as an end has no sample or the noise is unknown.
	Smallest float64
	// Second is set when a second change is more likely than not.
	Second *Second
	// Left is about how many more samples are needed, if each says as much as
	// what Next chose last was expected to; 0 if none or unknown.
	Left int
}

// Second is another commit that changed the metric.
type Second struct {
	Probability float64 // that there are two changes
	Culprits    []int   // where the smaller one is, as State.Culprits is of the larger
	// Change is the logarithm of its ratio, with its 95 % interval; State.Change
	// is that of the other one alone.
	Change, Low, High float64
}

// String is one line for people.
func (s State) String() string {
	switch s.Kind {
	case Found:
		return fmt.Sprintf("commit %d (%.1f %%): %+.1f %%, %d samples", s.Culprits[0], 100*s.Probability, 100*math.Expm1(s.Change), s.Samples)
	case NoDifference:
		return fmt.Sprintf("no difference: %.1f %% would have been seen in %d samples", 100*math.Expm1(s.Smallest), s.Samples)
	}
	return fmt.Sprintf("%v: %d commits (%.1f %%), %d samples", s.Kind, len(s.Culprits), 100*s.Probability, s.Samples)
}

// State judges the samples so far.
func (s *Search) State() State {
	s.update()
	st := State{
		Samples:   len(s.samples),
		Posterior: make([]float64, len(s.node)),
		NoChange:  s.mass.none,
	}
	post := s.posterior()
	for i, p := range post {
		st.Posterior[s.old[i]] = p
	}
	if len(s.samples) == 0 {
		st.Smallest = math.Inf(1)
		s.judge(&st)
		return st
	}
	first, second := s.roles()
	st.Culprits, st.Probability = s.credible(s.spread(first), s.o.Confidence)
	best := slices.Index(s.mass.one, slices.Max(s.mass.one))
	f := &s.classes[best].fit
	column := 1
	if s.mass.two > 0.5 {
		p := &s.pairs[slices.Index(s.mass.pairs, slices.Max(s.mass.pairs))]
		f, column = &p.fit, p.larger()
		st.Second = &Second{Probability: s.mass.two}
		st.Second.Culprits, _ = s.credible(s.spread(second), s.o.Confidence*s.mass.two)
		st.Second.Change, st.Second.Low, st.Second.High = f.change(3 - column)
	}
	st.Noise = math.Sqrt(1 / f.distance(-1, 0).a)
	if s.ends() {
		st.Change, st.Low, st.High = f.change(column)
	}
	s.judge(&st)
	st.Smallest = s.smallest()
	if st.Kind == Searching && s.rate > 0 {
		var bits float64
		for _, p := range s.spread(first) {
			if p > 0 {
				bits -= p * math.Log2(p)
			}
		}
		st.Left = int(math.Ceil(bits / s.rate))
	}
	return st
}

// credible is the smallest set of candidates with the mass asked for, as
// commits of the caller, most probable first, and its mass. It is all of them
// where the rest is the story that nothing changed.
func (s *Search) credible(post []float64, mass float64) ([]int, float64) {
	order := make([]int, 0, len(post))
	for i, p := range post {
		if p > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(post[b], post[a]) })
	var sum float64
	for n, i := range order {
		sum += post[i]
		order[n] = s.old[i]
		if sum >= mass {
			return order[:n+1], min(sum, 1)
		}
	}
	return order, min(sum, 1)
}

// ends says whether both have samples.
func (s *Search) ends() bool { return s.count(before) > 0 && s.count(len(s.old)-1) > 0 }

// count is the number of samples of a candidate, or of the good commits.
func (s *Search) count(c int) int {
	if i := slices.Index(s.sites, c); i >= 0 {
		return s.taken[i]
	}
	return 0
}

// smallest is the difference of the ends that a t test at 5 % would have seen
// with 80 %.
func (s *Search) smallest() float64 {
	g, b := s.count(before), s.count(len(s.old)-1)
	if g == 0 || b == 0 || g+b < 3 {
		return math.Inf(1)
	}
	d := s.none.fit.distance(0, 0)
	best := slices.Index(s.mass.one, slices.Max(s.mass.one))
	noise := math.Sqrt(1 / max(d.a, s.classes[best].fit.distance(0, 0).a))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(s.samples) - 2)}
	return (t.Quantile(0.975) + t.Quantile(0.8)) * noise * math.Sqrt(1/float64(g)+1/float64(b))
}

// change gives mean and 95 % interval of a change, column 1 or 2.
func (p *posterior) change(column int) (mean, low, high float64) {
	var square float64
	for i := range p.points {
		q := &p.points[i]
		mean += q.share * q.mean[column]
		square += q.share * (q.mean[column]*q.mean[column] + q.inverse[column][column]/q.precision)
	}
	sd := math.Sqrt(max(0, square-mean*mean))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: p.dof}.Quantile(0.975)
	return mean, mean - t*sd, mean + t*sd
}

// judge says whether the search is over.
func (s *Search) judge(st *State) {
	bad := len(s.old) - 1
	switch {
	case s.skipEnd && s.count(before) == 0, s.skipped[bad] && s.count(bad) == 0:
		st.Kind = Stuck
		return
	case !s.ends():
		return
	case s.mass.none > doubt && s.smallest() <= s.o.Least && s.count(before) > 1 && s.count(bad) > 1:
		st.Kind = NoDifference
		return
	}
	if s.mass.none > certain {
		return
	}
	first, second := s.roles()
	k := slices.Index(first, slices.Max(first))
	p := first[k]
	if s.mass.two <= 0.5 {
		p += second[k] // a culprit in either story
	}
	group, ok := s.group(k, p)
	if !ok {
		return
	}
	if s.mass.two > 0.5 {
		l := slices.Index(second, slices.Max(second))
		other, ok := s.group(l, second[l]/s.mass.two)
		if !ok {
			return
		}
		st.Kind = TwoChanges
		st.Culprits, st.Probability = group, first[k]
		if st.Second != nil {
			st.Second.Culprits = other
		}
		return
	}
	if s.mass.two > suspicious {
		return // more likely one than two, but not by enough
	}
	st.Culprits, st.Probability = group, min(p, 1)
	if st.Kind = OneOf; len(group) == 1 {
		st.Kind = Found
	}
}

// group is what a class of probability p has come to: commits of the caller that
// nothing which runs lies between. It is false if p is below the confidence
// asked for, or there is still something to tell apart.
func (s *Search) group(k int, p float64) ([]int, bool) {
	if p < s.o.Confidence {
		return nil, false
	}
	w := make([]float64, len(s.old))
	var group []int
	for i, c := range s.class {
		if c == k {
			w[i] = s.prior[i] / s.classes[k].prior
			group = append(group, s.old[i])
		}
	}
	if len(group) > 1 {
		for t, sum := range s.graph.Above(w) {
			if !s.skipped[t] && sum > 1e-12 && sum < 1-1e-12 {
				return nil, false
			}
		}
	}
	return group, true
}
