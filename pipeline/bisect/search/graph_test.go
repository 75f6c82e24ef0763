package search

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// random is a history of n commits in which each but the first has one parent
// or two, anywhere before it.
func random(r *rand.Rand, n int) Graph {
	g := Graph{Parents: make([][]int, n)}
	for i := 1; i < n; i++ {
		g.Parents[i] = []int{r.IntN(i)}
		if p := r.IntN(i); r.IntN(2) == 0 && p != g.Parents[i][0] {
			g.Parents[i] = append(g.Parents[i], p)
		}
	}
	return g
}

// ancestor walks, as the definition says.
func ancestor(g Graph, a, of int) bool {
	if a == of {
		return true
	}
	for _, p := range g.Parents[of] {
		if ancestor(g, a, p) {
			return true
		}
	}
	return false
}

func TestGraph(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		g := random(r, 2+r.IntN(14))
		n := len(g.Parents)
		w := make([]float64, n)
		for i := range w {
			w[i] = r.Float64()
		}
		sums := g.Above(w)
		for c := range n {
			mark := g.Reachable(c)
			var want float64
			for a := range n {
				if mark[a] != ancestor(g, a, c) {
					t.Fatalf("%v: Reachable(%d)[%d] = %v", g.Parents, c, a, mark[a])
				}
				if mark[a] {
					want += w[a]
				}
			}
			if math.Abs(sums[c]-want) > 1e-12 {
				t.Fatalf("%v: Above[%d] = %v, want %v", g.Parents, c, sums[c], want)
			}
		}
	}
}

// Commits on branches that the bad end does not hold, and those of the good
// one, are no candidates.
func TestCandidates(t *testing.T) {
	// 0 - 1 - 2 - 4 - 6 - 7    good: 2; bad: 6; 7 is later; 5 is elsewhere
	//      \- 3 -/ \- 5
	g := Graph{Parents: [][]int{nil, {0}, {1}, {1}, {2, 3}, {4}, {4}, {6}}}
	s, err := New(g, Options{Good: []int{2}, Bad: 6})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{3, 4, 6}, s.Candidates()); diff != "" {
		t.Error(diff)
	}
	if err := s.Observe(5, 0, 0); err == nil {
		t.Error("a sample of a commit beside the range was taken")
	}
	if err := s.Observe(1, 0, 0); err != nil {
		t.Errorf("a sample of an ancestor of the good end: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		g Graph
		o Options
	}{
		"no good end":        {Line(3), Options{Bad: 2}},
		"ends swapped":       {Line(3), Options{Good: []int{2}, Bad: 0}},
		"bad end missing":    {Line(3), Options{Good: []int{0}, Bad: 3}},
		"good end missing":   {Line(3), Options{Good: []int{-1}, Bad: 2}},
		"child before":       {Graph{Parents: [][]int{{1}, nil}}, Options{Good: []int{0}, Bad: 1}},
		"weights missing":    {Line(3), Options{Good: []int{0}, Bad: 2, Prior: []float64{1}}},
		"nobody to blame":    {Line(3), Options{Good: []int{0}, Bad: 2, Prior: []float64{1, 0, 0}}},
		"weight below zero":  {Line(3), Options{Good: []int{0}, Bad: 2, Prior: []float64{1, -1, 1}}},
		"certain":            {Line(3), Options{Good: []int{0}, Bad: 2, Confidence: 1}},
		"noise below zero":   {Line(3), Options{Good: []int{0}, Bad: 2, Noise: -1}},
		"weight not a value": {Line(3), Options{Good: []int{0}, Bad: 2, Prior: []float64{1, math.NaN(), 1}}},
	} {
		if _, err := New(c.g, c.o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
