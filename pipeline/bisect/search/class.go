package search

import (
	"math"
	"slices"
)

// class is a set of candidates that all samples so far see alike: each sampled
// commit descends from all of them or from none. So they share one likelihood,
// and a search of 20,000 commits has no more likelihoods than it has sampled
// commits, give or take merges.
type class struct {
	prior float64   // sum of its candidates' weights
	size  int       // candidates with weight
	bad   []uint8   // per site: 1 where a culprit of this class makes it bad
	soft  []float64 // per sample: weight, below 1 for an outlier
	fit   fit

	log    float64 // evidence times prior, when it was last fitted
	behind float64 // the best class's log less this
	fitted int     // samples at that time
}

// sample is one boot.
type sample struct {
	site  int     // index of the commit in Search.sites
	block int     // index of the block in Search.blocks
	value float64 // log metric, relative to the first sample
}

// add takes a sample in, and splits the classes where its commit is new.
func (s *Search) add(c, block int, value float64) {
	s.stale = true
	if len(s.samples) == 0 {
		s.zero = value
	}
	b := slices.Index(s.blocks, block)
	if b < 0 {
		b = len(s.blocks)
		s.blocks = append(s.blocks, block)
	}
	site := slices.Index(s.sites, c)
	known := site >= 0
	if !known {
		site = len(s.sites)
		s.sites = append(s.sites, c)
		s.taken = append(s.taken, 0)
	}
	s.taken[site]++
	s.samples = append(s.samples, sample{site, b, value - s.zero})
	if known {
		return
	}
	above := s.ancestors(c)
	inside := make([]int, len(s.classes)) // members above the site
	for i, k := range s.class {
		if k >= 0 && above[i] {
			inside[k]++
		}
	}
	split := make([]int, len(s.classes)) // where those members go
	for k, n := range inside {
		old := s.classes[k]
		split[k] = k
		switch n {
		case 0:
			old.bad = append(old.bad, 0)
		case old.size:
			old.bad = append(old.bad, 1)
		default:
			bad := append(slices.Clone(old.bad), 1)
			old.bad = append(old.bad, 0)
			split[k] = len(s.classes)
			s.classes = append(s.classes, &class{bad: bad, soft: slices.Clone(old.soft)})
			old.fitted = 0 // the sample differs for the two, and the priors
		}
	}
	for i, k := range s.class {
		if k >= 0 && above[i] {
			s.class[i] = split[k]
		}
	}
	s.weigh()
}

// weigh counts the classes again after candidates moved or lost their weight,
// and drops those that are empty.
func (s *Search) weigh() {
	for _, k := range s.classes {
		k.prior, k.size = 0, 0
	}
	for i, k := range s.class {
		if k < 0 {
			continue
		}
		if s.prior[i] == 0 {
			s.class[i] = -1
			continue
		}
		s.classes[k].prior += s.prior[i]
		s.classes[k].size++
	}
	number := make([]int, len(s.classes))
	var kept []*class
	for k, c := range s.classes {
		number[k] = len(kept)
		if c.size > 0 {
			kept = append(kept, c)
		}
	}
	s.classes = kept
	for i, k := range s.class {
		if k >= 0 {
			s.class[i] = number[k]
		}
	}
	s.stale = true
}

// logSum is the logarithm of a sum of exponentials.
func logSum(x []float64) float64 {
	top := math.Inf(-1)
	for _, v := range x {
		top = max(top, v)
	}
	if math.IsInf(top, -1) {
		return top
	}
	var sum float64
	for _, v := range x {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum)
}
