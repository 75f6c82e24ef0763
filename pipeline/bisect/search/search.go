package search

import (
	"errors"
	"fmt"
	"math"
)

// Options say what is searched and how sure the answer must be.
type Options struct {
	// Good are commits known to be before the change; the first is the end
	// that is measured. Only commits that no good one descends from can be the
	// culprit.
	Good []int
	// Bad is the commit known to be after the change, or to be it.
	Bad int
	// Prior weighs each commit of the graph as the culprit, in any unit; zero
	// excludes it. Nil gives all the same.
	Prior []float64
	// Confidence is the probability at which a commit is named; 0 is 0.95.
	Confidence float64
	// Noise is the standard deviation of the logarithm of the metric from boot
	// to boot, as far as it is known beforehand (0.03 is about 3 %). It is a
	// guess that samples overrule. 0 is no guess.
	Noise float64
	// Outliers is the share of boots that are expected to be far off, for no
	// fault of the kernel; 0 is 0.05. Where there can be none, as in virtual
	// time, a small share saves a boot or so.
	Outliers float64
	// Least is the smallest change worth finding, as the logarithm of a ratio;
	// 0 is 0.03. The ends are measured until a change of that size would have
	// been seen, and if there is none then, the search stops.
	Least float64
}

// Defaults of Options.
const (
	defaultConfidence = 0.95
	defaultLeast      = 0.03
	defaultOutliers   = 0.05
)

// Search is one search for one change of one metric.
type Search struct {
	o     Options
	graph Graph // of the candidates alone; all else speaks of these numbers
	old   []int // candidate -> commit of the caller's graph
	node  []int // commit -> candidate; before or outside

	prior   []float64 // per candidate; zero when excluded
	skipped []bool    // per candidate
	skipEnd bool      // the good end does not run

	sites   []int // candidates with samples, or before; in order of first sample
	taken   []int // samples of each
	blocks  []int // the caller's numbers, in order of first sample
	samples []sample
	zero    float64 // log metric that samples are relative to
	class   []int   // candidate -> class, or -1 when excluded
	classes []*class

	m       model
	stale   bool // what follows does not know all samples
	none    class
	pairs   []pair
	suspect bool // two changes were likely once
	mass    shares
	near    []float64 // see Search.broken
	rate    float64   // bits that the last choice was expected to give
}

// Places of commits that are not candidates.
const (
	before  = -1 // a good commit or an ancestor of one
	outside = -2 // not an ancestor of the bad commit
)

// New prepares a search. Errors are about the graph and the options alone:
// a parent that follows its child, ends that are not in the graph, a bad
// commit that a good one descends from.
func New(g Graph, o Options) (*Search, error) {
	if o.Confidence == 0 {
		o.Confidence = defaultConfidence
	}
	if o.Least == 0 {
		o.Least = defaultLeast
	}
	if o.Outliers == 0 {
		o.Outliers = defaultOutliers
	}
	n := len(g.Parents)
	switch {
	case len(o.Good) == 0:
		return nil, errors.New("start search: no good commit is given")
	case o.Bad < 0 || o.Bad >= n:
		return nil, fmt.Errorf("start search: bad commit %d is not one of the %d of the history", o.Bad, n)
	case o.Confidence <= 0.5 || o.Confidence >= 1:
		return nil, fmt.Errorf("start search: confidence %g is not between 0.5 and 1", o.Confidence)
	case o.Prior != nil && len(o.Prior) != n:
		return nil, fmt.Errorf("start search: %d weights for %d commits", len(o.Prior), n)
	case o.Outliers < 0 || o.Outliers > 0.5:
		return nil, fmt.Errorf("start search: a share of outliers of %g is not between 0 and 0.5", o.Outliers)
	case o.Noise < 0, o.Least < 0:
		return nil, errors.New("start search: noise and smallest change cannot be negative")
	}
	for _, c := range o.Good {
		if c < 0 || c >= n {
			return nil, fmt.Errorf("start search: good commit %d is not one of the %d of the history", c, n)
		}
	}
	if err := g.check(); err != nil {
		return nil, err
	}
	good, bad := g.Reachable(o.Good...), g.Reachable(o.Bad)
	if good[o.Bad] {
		return nil, errors.New("start search: a good commit descends from the bad one: are the two ends swapped?")
	}
	s := &Search{o: o, node: make([]int, n), m: newModel(o.Noise, o.Outliers)}
	keep := make([]bool, n)
	for i := range keep {
		keep[i] = bad[i] && !good[i]
	}
	s.graph, s.old = g.without(keep)
	s.graph = s.graph.prepared()
	for i := range s.node {
		s.node[i] = outside
		if good[i] {
			s.node[i] = before
		}
	}
	s.prior = make([]float64, len(s.old))
	s.skipped = make([]bool, len(s.old))
	s.class = make([]int, len(s.old))
	for i, c := range s.old {
		s.node[c] = i
		s.prior[i] = 1
		if o.Prior != nil {
			if s.prior[i] = o.Prior[c]; !(s.prior[i] >= 0) || math.IsInf(s.prior[i], 0) {
				return nil, fmt.Errorf("start search: weight %g of commit %d", s.prior[i], c)
			}
		}
	}
	s.classes = []*class{{}}
	if s.weigh(); len(s.classes) == 0 {
		return nil, errors.New("start search: every commit between the ends is excluded")
	}
	return s, nil
}

// Candidates are the commits that may be the culprit, in the graph's order.
// Those that [Search.Alias] has cleared are still among them.
func (s *Search) Candidates() []int { return append([]int(nil), s.old...) }

// place gives the candidate of a commit, or before.
func (s *Search) place(commit int) (int, error) {
	if commit < 0 || commit >= len(s.node) {
		return 0, fmt.Errorf("commit %d is not one of the %d of the history", commit, len(s.node))
	}
	if s.node[commit] == outside {
		return 0, fmt.Errorf("commit %d is neither good nor an ancestor of the bad commit", commit)
	}
	return s.node[commit], nil
}

// Observe adds one boot of a commit. Samples with the same block were taken
// close together on one host, in any order, and share what it was doing then.
// Value is the natural logarithm of the metric.
func (s *Search) Observe(commit, block int, value float64) error {
	c, err := s.place(commit)
	if err != nil {
		return fmt.Errorf("take sample: %w", err)
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return fmt.Errorf("take sample of commit %d: %g is no logarithm of a metric above zero", commit, value)
	}
	s.add(c, block, value)
	return nil
}

// Skip says that a commit cannot be measured: it does not build, does not boot
// or panics. It is no evidence, and the commit may still be the culprit; it is
// only never chosen again.
func (s *Search) Skip(commit int) error {
	c, err := s.place(commit)
	if err != nil {
		return fmt.Errorf("skip commit: %w", err)
	}
	if c == before {
		s.skipEnd = true
	} else {
		s.skipped[c] = true
	}
	return nil
}

// Alias says that the kernel of a commit is that of another one, byte for
// byte, so that both have the same level and each has the other's samples.
// What lies between them cannot be the culprit. The error says that nothing
// would be left.
func (s *Search) Alias(commit, of int) error {
	a, err := s.place(commit)
	if err != nil {
		return fmt.Errorf("alias commit: %w", err)
	}
	b, err := s.place(of)
	if err != nil {
		return fmt.Errorf("alias commit: %w", err)
	}
	one, two := s.ancestors(a), s.ancestors(b)
	var left float64
	for i, w := range s.prior {
		if one[i] == two[i] {
			left += w
		}
	}
	if left == 0 {
		return fmt.Errorf("alias commit %d of %d: all that could have changed the metric lies between two equal kernels", commit, of)
	}
	for i := range s.prior {
		if one[i] != two[i] {
			s.prior[i] = 0
		}
	}
	s.weigh()
	return nil
}

// ancestors marks the candidates that a candidate descends from, and itself.
func (s *Search) ancestors(c int) []bool {
	if c == before {
		return make([]bool, len(s.old))
	}
	return s.graph.Reachable(c)
}
