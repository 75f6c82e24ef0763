package simulate

import (
	"context"
	"math/rand/v2"

	"spindle/pipeline/bisect/search"
)

// outcome is how one search ended.
type outcome struct {
	decided bool // names a commit, or a set that cannot be told apart
	right   bool // and it is, or holds, the culprit
	size    int  // of the set
	boots   int
	builds  int // that failed
	none    bool
	second  bool // a second change was noticed
	both    bool // and is where it is said to be
}

// budget ends a search that does not.
const budget = 3000

// spindle runs package search on a history, with options beside the ends. The
// only error is that of ctx.
func (h *history) spindle(ctx context.Context, r *rand.Rand, o search.Options) (outcome, error) {
	o.Good, o.Bad = []int{0}, len(h.graph.Parents)-1
	s, err := search.New(h.graph, o)
	if err != nil {
		panic(err) // a history without candidates is never drawn
	}
	host := h.host(r)
	must := func(err error) {
		if err != nil {
			panic(err) // the search refuses what it asked for itself
		}
	}
	if h.Same > 0 {
		leader := map[int]int{}
		for i, image := range h.image {
			if first, ok := leader[image]; ok {
				must(s.Alias(i, first))
			} else {
				leader[image] = i
			}
		}
	}
	var out outcome
	for host.boots < budget {
		if err := ctx.Err(); err != nil {
			return outcome{}, err
		}
		host.fresh(1)
		next := s.Next(host.block, nil)
		if next.Done {
			break
		}
		if h.broken[next.Commit] {
			out.builds++
			must(s.Skip(next.Commit))
			continue
		}
		must(s.Observe(next.Commit, host.block, host.boot(next.Commit)))
	}
	st := s.State()
	out.boots = host.boots
	out.none = st.Kind == search.NoDifference
	out.decided = st.Kind == search.Found || st.Kind == search.OneOf || st.Kind == search.TwoChanges
	if out.decided {
		out.right, out.size = h.among(st.Culprits), len(st.Culprits)
	}
	if st.Second != nil {
		out.second = true
		out.both = h.among(st.Culprits) && h.among(st.Second.Culprits)
	}
	return out, nil
}

// among says whether a culprit is one of the commits.
func (h *history) among(commits []int) bool {
	for _, c := range commits {
		if c == h.culprit || c == h.second && c != 0 {
			return true
		}
	}
	return false
}
