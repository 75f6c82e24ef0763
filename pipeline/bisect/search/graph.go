package search

import "fmt"

// Graph is a history: commit i has the parents Parents[i], all of them smaller
// than i, as git rev-list --reverse --topo-order gives them. Parents outside of
// the graph are left out.
type Graph struct {
	Parents [][]int
}

// Line is a history of n commits without a merge: 0, 1, ..., n-1.
func Line(n int) Graph {
	g := Graph{Parents: make([][]int, n)}
	for i := 1; i < n; i++ {
		g.Parents[i] = []int{i - 1}
	}
	return g
}

func (g Graph) check() error {
	for i, parents := range g.Parents {
		for _, p := range parents {
			if p < 0 || p >= i {
				return fmt.Errorf("read history: commit %d has parent %d, which does not come before it", i, p)
			}
		}
	}
	return nil
}

// Reachable marks the commits from which the given ones descend, and these
// themselves.
func (g Graph) Reachable(from ...int) []bool {
	mark := make([]bool, len(g.Parents))
	last := -1
	for _, c := range from {
		mark[c] = true
		last = max(last, c)
	}
	for i := last; i >= 0; i-- {
		if mark[i] {
			for _, p := range g.Parents[i] {
				mark[p] = true
			}
		}
	}
	return mark
}

// without is the graph of the kept commits alone, renumbered in their order,
// and the old number of each.
func (g Graph) without(keep []bool) (Graph, []int) {
	number := make([]int, len(g.Parents))
	var out Graph
	var old []int
	for i, parents := range g.Parents {
		number[i] = -1
		if !keep[i] {
			continue
		}
		var mine []int
		for _, p := range parents {
			if number[p] >= 0 {
				mine = append(mine, number[p])
			}
		}
		number[i] = len(old)
		old = append(old, i)
		out.Parents = append(out.Parents, mine)
	}
	return out, old
}

// Above sums w over the ancestors of every commit, itself included. Where
// history is linear this is one addition a commit; only merges walk.
func (g Graph) Above(w []float64) []float64 {
	sum := make([]float64, len(w))
	seen := make([]int32, len(w))
	var stack []int
	for i, parents := range g.Parents {
		switch len(parents) {
		case 0:
			sum[i] = w[i]
		case 1:
			sum[i] = sum[parents[0]] + w[i]
		default:
			// The first parent's sum is known; what the others bring that it
			// lacks would need its set of ancestors, so all are walked.
			stack = append(stack[:0], i)
			mark := int32(i) + 1
			seen[i] = mark
			for len(stack) > 0 {
				c := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				sum[i] += w[c]
				for _, p := range g.Parents[c] {
					if seen[p] != mark {
						seen[p] = mark
						stack = append(stack, p)
					}
				}
			}
		}
	}
	return sum
}
