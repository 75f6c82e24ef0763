package search

import "fmt"

// Graph is a history: commit i has the parents Parents[i], all of them smaller
// than i, as git rev-list --reverse --topo-order gives them. Parents outside of
// the graph are left out.
type Graph struct {
	Parents [][]int

	sides [][]int // see Graph.prepared
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

// prepared is the graph with the sides of its merges worked out: what a merge
// brings that its first parent does not descend from. Branches are short beside
// history, so this is little, and Above then is a few additions a commit.
func (g Graph) prepared() Graph {
	g.sides = make([][]int, len(g.Parents))
	mark := make([]uint8, len(g.Parents))
	for i, parents := range g.Parents {
		if len(parents) > 1 {
			g.sides[i] = g.side(parents, mark)
		}
	}
	return g
}

// side walks back from all parents of a merge at once, latest commit first,
// until what is left to visit descends from nothing but the first parent's own
// ancestors. Mark is all zero before and after.
func (g Graph) side(parents []int, mark []uint8) []int {
	const first, other = 1, 2
	var out, visited []int
	open := 0 // marked other alone, and not visited yet
	var heap latest
	see := func(c int, with uint8) {
		old := mark[c]
		mark[c] |= with
		if old == 0 {
			heap.push(c)
			visited = append(visited, c)
		}
		switch {
		case old == 0 && mark[c] == other:
			open++
		case old == other && mark[c] != other:
			open--
		}
	}
	see(parents[0], first)
	for _, p := range parents[1:] {
		see(p, other)
	}
	for open > 0 {
		c := heap.pop()
		if mark[c] == other {
			open--
			out = append(out, c)
		}
		for _, p := range g.Parents[c] {
			see(p, mark[c])
		}
	}
	for _, c := range visited {
		mark[c] = 0
	}
	return out
}

// latest is a heap of commits, the largest first.
type latest []int

func (h *latest) push(c int) {
	*h = append(*h, c)
	for i := len(*h) - 1; i > 0; {
		up := (i - 1) / 2
		if (*h)[up] >= (*h)[i] {
			break
		}
		(*h)[up], (*h)[i] = (*h)[i], (*h)[up]
		i = up
	}
}

func (h *latest) pop() int {
	top, last := (*h)[0], len(*h)-1
	(*h)[0] = (*h)[last]
	*h = (*h)[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return top
		}
		if down+1 < last && (*h)[down+1] > (*h)[down] {
			down++
		}
		if (*h)[i] >= (*h)[down] {
			return top
		}
		(*h)[i], (*h)[down] = (*h)[down], (*h)[i]
		i = down
	}
}

// Above sums w over the ancestors of every commit, itself included. In a search
// this is a few additions a commit; elsewhere the sides of
// its merges are worked out each time.
func (g Graph) Above(w []float64) []float64 {
	if g.sides == nil {
		g = g.prepared()
	}
	sum := make([]float64, len(w))
	for i, parents := range g.Parents {
		sum[i] = w[i]
		if len(parents) > 0 {
			sum[i] += sum[parents[0]]
		}
		for _, c := range g.sides[i] {
			sum[i] += w[c]
		}
	}
	return sum
}
