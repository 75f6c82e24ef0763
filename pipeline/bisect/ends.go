package bisect

import (
	"context"
	"fmt"
	"math"
	"slices"

	"spindle/internal/fault"
	"spindle/pipeline/bisect/search"
	"spindle/reports"
	"spindle/reports/stat"
)

// The ends are measured in blocks until their difference is claimed at 95 %, at
// the looks of [stat.Auto], or until a change of endsSee would have been seen.
const (
	endsMost = 10
	endsSee  = 0.05
)

// Ends is what the two ends measured.
type Ends struct {
	Alike  bool         // they have one kernel
	Change stat.Verdict // of the bad end against the good one, by the blocks of the first phase
	// Same is the verdict of kernels against themselves within a block; nil in
	// virtual time, where there is no difference.
	Same *stat.Verdict
}

// Differ says whether there is a change to look for.
func (e Ends) Differ() bool { return claimed(e.Change) }

func claimed(v stat.Verdict) bool { return v.Kind == stat.Better || v.Kind == stat.Worse }

// ends measures both ends, and says whether they differ. It then makes the
// search.
//
// In a block of real time one end stands before and after the other one, by
// turns: the two samples of one kernel say what the host alone does.
func (f *Finder) ends(ctx context.Context) (bool, error) {
	ids := [2]string{f.history.Good().ID, f.history.Bad().ID}
	for _, id := range ids {
		if _, _, err := f.kernel(ctx, id, ""); err != nil {
			return false, err
		}
	}
	if f.state.Kernels[ids[0]].Alike == f.state.Kernels[ids[1]].Alike {
		f.talk.Printf("both ends have the same kernel")
		return false, nil
	}
	for block := 1; ; block++ {
		order := f.endOrder(ids, block)
		for i := f.state.inPhase(phaseEnds, block); i < len(order); i++ {
			f.talk.Status(len(f.state.Samples), 0, 0, "measuring the ends: block %d, %s", block, map[bool]string{true: "good", false: "bad"}[order[i] == ids[0]])
			if _, err := f.sample(ctx, order[i], "", block, phaseEnds); err != nil {
				return false, err
			}
		}
		// A bisection that goes on has later blocks already; a look at those here
		// would be one that nobody paid for.
		e := f.state.endsUntil(f.history, block)
		rule := stat.Auto{Most: endsMost, See: endsSee}
		if !slices.Contains(rule.Looks(), block) {
			continue
		}
		if e.Differ() || rule.After(block, []stat.Verdict{e.Change}, 0, 0).Next == 0 {
			if f.search == nil {
				f.talk.Printf("ends: %s", e.says())
			}
			if err := e.sound(); err != nil || !e.Differ() {
				return false, err
			}
			var err error
			f.search, err = newSearch(f.history, e)
			return err == nil, err
		}
	}
}

// endOrder gives the samples of a block of the ends.
func (f *Finder) endOrder(ids [2]string, block int) []string {
	switch a, b := ids[0], ids[1]; {
	case f.lab.Virtual:
		return []string{a, b}
	case block%2 == 1:
		return []string{a, b, a}
	default:
		return []string{b, a, b}
	}
}

// inPhase counts a block's samples of a phase.
func (s *State) inPhase(phase string, block int) (n int) {
	for _, x := range s.Samples {
		if x.Phase == phase && x.Block == block {
			n++
		}
	}
	return n
}

// Ends judges the first phase.
func (s *State) Ends(h *History) Ends { return s.endsUntil(h, math.MaxInt) }

// endsUntil judges the first phase as it was after that block.
func (s *State) endsUntil(h *History, upto int) Ends {
	good, bad := h.Good().ID, h.Bad().ID
	e := Ends{Alike: s.Kernels[good].Alike != "" && s.Kernels[good].Alike == s.Kernels[bad].Alike}
	by := map[int]map[string][]float64{}
	last := 0
	for _, x := range s.Samples {
		if x.Phase != phaseEnds || x.Block > upto {
			continue
		}
		if by[x.Block] == nil {
			by[x.Block] = map[string][]float64{}
		}
		by[x.Block][x.Commit] = append(by[x.Block][x.Commit], x.Value)
		last = max(last, x.Block)
	}
	var change, same []stat.Pair
	for block := 1; block <= last; block++ {
		g, b := by[block][good], by[block][bad]
		if len(g) == 0 || len(b) == 0 {
			continue
		}
		change = append(change, stat.Pair{Block: block, Base: geometric(g), Arm: geometric(b)})
		for _, v := range [][]float64{g, b} {
			if len(v) == 2 {
				same = append(same, stat.Pair{Block: block, Base: v[0], Arm: v[1]})
			}
		}
	}
	e.Change = s.metric(endsMost).Compare(change)
	if !s.Start.Virtual {
		v := s.metric(0).Compare(same)
		e.Same = &v
	}
	return e
}

// metric is what stat must know of the metric, for so many blocks at most with
// looks in between.
func (s *State) metric(most int) stat.Metric {
	m := stat.Metric{Direction: stat.Lower, Shape: reports.Shape(s.Start.Metric), Resolution: s.Start.Metric.Resolution}
	if s.Start.Metric.Direction == "higher" {
		m.Direction = stat.Higher
	}
	if most > 0 {
		m.Looks = len(stat.Auto{Most: most}.Looks())
	}
	return m
}

func geometric(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(v)))
}

// sound refuses a host on which a kernel differs from itself by half as much as
// the ends do, or more. Where the ends do not differ nothing is claimed, and
// there is nothing to refuse: one comparison in twenty of a kernel with itself
// says by chance that it differs.
func (e Ends) sound() error {
	if e.Same == nil || !claimed(e.Change) || !claimed(*e.Same) || math.Abs(math.Log1p(e.Same.Change)) < math.Abs(math.Log1p(e.Change.Change))/2 {
		return nil
	}
	return &fault.Error{Kind: fault.Machinery, Reason: "unsteady",
		Err:  fmt.Errorf("the same kernel differs from itself by %+.1f %% from one boot to the next, and the ends by %+.1f %%", 100*e.Same.Change, 100*e.Change.Change),
		Hint: "what the host does from boot to boot is no change of a kernel: a longer workload, or machine: {time: virtual}, may tell"}
}

func (e Ends) says() string {
	v := e.Change
	switch {
	case claimed(v):
		return fmt.Sprintf("the bad one differs by %+.2f %% (%+.2f to %+.2f), %d blocks", 100*v.Change, 100*v.Low, 100*v.High, v.N)
	case math.IsNaN(v.MDE) || math.IsInf(v.MDE, 0):
		return fmt.Sprintf("no difference, %d blocks", v.N)
	}
	return fmt.Sprintf("no difference; %.1f %% would have been seen, %d blocks", 100*v.MDE, v.N)
}

// newSearch makes the search that follows the ends. What they differ by is
// known then, so no smaller change is given up for none.
func newSearch(h *History, e Ends) (*search.Search, error) {
	g := search.Graph{}
	for _, c := range h.Commits {
		g.Parents = append(g.Parents, c.Parents)
	}
	return search.New(g, search.Options{
		Good: []int{0}, Bad: len(h.Commits) - 1,
		Least: min(endsSee, math.Abs(math.Log1p(e.Change.Change))/2),
	})
}
