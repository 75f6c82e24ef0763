package search

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Choice is what to boot next.
type Choice struct {
	// Done: there is nothing left to boot; State says why.
	Done bool
	// Commit is of the caller's graph.
	Commit int
	// Why is the reason, for the log.
	Why Reason
	// Gain is the expected information about the culprit, in bits.
	Gain float64
}

// Reason says what a boot is for.
type Reason int

const (
	End    Reason = iota // to know the level of an end
	Split                // to halve what may be the culprit
	Repeat               // to be surer of a commit measured before
)

func (r Reason) String() string { return [...]string{"end", "split", "repeat"}[r] }

// Next chooses the commit whose boot is expected to say most about the
// culprit for its cost; a boot in the given block. Cost is in any unit and
// must be above zero: what it takes to build and boot the commit. Nil means
// that all cost the same. The ends come first, and come again as long as it is
// in doubt that they differ.
func (s *Search) Next(block int, cost func(commit int) time.Duration) Choice {
	s.update()
	var st State
	if s.judge(&st); st.Kind != Searching {
		return Choice{Done: true}
	}
	good, bad := s.count(before), s.count(len(s.old)-1)
	switch {
	case good == 0:
		return Choice{Commit: s.o.Good[0], Why: End}
	case bad == 0:
		return Choice{Commit: s.o.Bad, Why: End}
	case s.mass.none > doubt && good <= bad:
		return Choice{Commit: s.o.Good[0], Why: End}
	case s.mass.none > doubt:
		return Choice{Commit: s.o.Bad, Why: End}
	}
	best := Choice{Done: true}
	s.near = s.broken()
	s.rate = 0
	var top float64
	o := s.look(block)
	for _, t := range s.shortlist(cost) {
		commit := s.commit(t)
		gain := o.gain(t)
		score := gain * s.worth(t) / price(cost, commit)
		if best.Done || score > top*(1+1e-9) {
			top = score
			s.rate = gain
			best = Choice{Commit: commit, Gain: gain, Why: s.reason(t)}
		}
	}
	return best
}

// What does not build comes in runs: the next commit of such a run does not
// build either with a probability of alikeBroken. A failed build costs lost of
// what a boot with its build costs.
const (
	alikeBroken = 0.8
	lost        = 0.5
)

// broken is, per candidate, the probability that it does not run, as far as
// skipped commits near it tell.
func (s *Search) broken() []float64 {
	out := make([]float64, len(s.old))
	spread := func(from, to int) {
		if s.count(to) == 0 {
			out[to] = max(out[to], alikeBroken*out[from])
		}
	}
	for i, skip := range s.skipped {
		if skip {
			out[i] = 1
		}
	}
	for i, parents := range s.graph.Parents {
		for _, p := range parents {
			spread(p, i)
		}
	}
	for i := len(out) - 1; i >= 0; i-- {
		for _, p := range s.graph.Parents[i] {
			spread(i, p)
		}
	}
	return out
}

// worth is the part of a candidate's gain for its cost that is left when it may
// not run.
func (s *Search) worth(t int) float64 {
	if t == before {
		return 1
	}
	fails := s.near[t]
	return (1 - fails) / (1 - fails + fails*lost)
}

func price(cost func(int) time.Duration, commit int) float64 {
	if cost == nil {
		return 1
	}
	return cost(commit).Seconds()
}

// commit is the caller's number of a candidate or of the good end.
func (s *Search) commit(t int) int {
	if t == before {
		return s.o.Good[0]
	}
	return s.old[t]
}

func (s *Search) reason(t int) Reason {
	switch {
	case t == before, t == len(s.old)-1:
		return End
	case s.count(t) > 0:
		return Repeat
	}
	return Split
}

// shortlist gives the commits worth a closer look: the ends, and those that
// split what is left most evenly, among them some that have samples.
func (s *Search) shortlist(cost func(int) time.Duration) []int {
	const fresh, again = 8, 4
	one, two := s.roles()
	first := s.graph.Above(s.spread(one))
	second := first // not looked at where two changes are unlikely
	if s.mass.two > 0.01 {
		second = s.graph.Above(s.spread(two))
	}
	score := make([]float64, len(first))
	var order []int
	for t := range score {
		if s.skipped[t] {
			continue
		}
		score[t] = binary(min(first[t], 1))
		if s.mass.two > 0.01 {
			score[t] += s.mass.two * binary(min(second[t]/s.mass.two, 1))
		}
		if score[t] > 0 {
			score[t] *= s.worth(t) / price(cost, s.old[t])
			order = append(order, t)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a, b))
	})
	var list []int
	if !s.skipEnd {
		list = append(list, before)
	}
	if bad := len(s.old) - 1; !s.skipped[bad] {
		list = append(list, bad)
	}
	var news, olds int
	for _, t := range order {
		n := &news
		limit := fresh
		if s.count(t) > 0 {
			n, limit = &olds, again
		}
		if *n < limit && t != len(s.old)-1 {
			*n++
			list = append(list, t)
		}
	}
	return list
}

// binary is the entropy of a coin, in bits.
func binary(p float64) float64 {
	if p <= 0 || p >= 1 {
		return 0
	}
	return -p*math.Log2(p) - (1-p)*math.Log2(1-p)
}
