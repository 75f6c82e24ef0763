package simulate

import (
	"math"
	"math/rand/v2"

	"spindle/pipeline/bisect/search"
)

// World is a kind of history and of noise.
type World struct {
	Commits     int     // that may be the culprit
	Noise       float64 // coefficient of variation of the metric
	Effect      float64 // of the culprit: 0.05 makes the metric larger by 5 %
	Unbuildable float64 // share of commits
	Outliers    float64 // share of boots that take up to half as long again
	Drift       float64 // of the host from block to block, in the noise's own size
	Second      float64 // effect of a second culprit; 0 is none
	Same        float64 // share of commits that leave the kernel as it was
	Merges      bool    // branches and merges as in Linux, instead of a line
}

// run is how many commits in a row do not build, on average.
const run = 5

// boots is how many boots share a block.
const boots = 6

// history is one drawn history. Commit 0 is good, the last one is bad.
type history struct {
	World
	graph   search.Graph
	culprit int
	second  int   // 0 is none
	image   []int // commits with the same number have the same kernel
	broken  []bool
	level   []float64 // true log metric
}

// draw makes a history.
func (w World) draw(r *rand.Rand) *history {
	h := &history{World: w, broken: make([]bool, w.Commits+1), image: make([]int, w.Commits+1)}
	h.graph = search.Line(w.Commits + 1)
	if w.Merges {
		h.graph = merged(r, w.Commits+1)
	}
	// Runs of a geometric length, with gaps that make their share right. The
	// ends build: who starts a bisection has run both.
	broken := false
	for i := 1; i < w.Commits; i++ {
		if broken {
			broken = r.Float64() > 1.0/run
		} else {
			broken = r.Float64() < w.Unbuildable/(1-w.Unbuildable)/run
		}
		h.broken[i] = broken
	}
	same := make([]bool, w.Commits+1)
	for i := range same {
		same[i] = r.Float64() < w.Same
	}
	for {
		h.culprit = 1 + r.IntN(w.Commits)
		if !same[h.culprit] {
			break
		}
	}
	for w.Second != 0 && (h.second == 0 || h.second == h.culprit || same[h.second]) {
		h.second = 1 + r.IntN(w.Commits)
	}
	for i := range h.image {
		h.image[i] = i
		if p := h.graph.Parents[i]; same[i] && len(p) == 1 {
			h.image[i] = h.image[p[0]]
		}
	}
	h.level = h.from(h.culprit, math.Log1p(w.Effect))
	if h.second > 0 {
		for i, x := range h.from(h.second, math.Log1p(w.Second)) {
			h.level[i] += x
		}
	}
	return h
}

// from is change where commit c is an ancestor.
func (h *history) from(c int, change float64) []float64 {
	out := make([]float64, len(h.graph.Parents))
	out[c] = change
	for i := c + 1; i < len(out); i++ {
		for _, p := range h.graph.Parents[i] {
			if out[p] == change {
				out[i] = change
			}
		}
	}
	return out
}

// merged is a history of n commits: a main line of merges and of commits made
// on it, and branches of a few commits that start some way back, as those of
// Linux's maintainers do.
func merged(r *rand.Rand, n int) search.Graph {
	g := search.Graph{Parents: make([][]int, n)}
	main := []int{0}
	tip := 0
	for i := 1; i < n; {
		length := 1 + r.IntN(12)
		if i+length+1 >= n || r.IntN(3) == 0 {
			g.Parents[i] = []int{tip}
			tip = i
			main = append(main, i)
			i++
			continue
		}
		at := main[max(0, len(main)-1-r.IntN(20))]
		for range length {
			g.Parents[i] = []int{at}
			at = i
			i++
		}
		g.Parents[i] = []int{tip, at}
		tip = i
		main = append(main, i)
		i++
	}
	return g
}

// host boots commits and counts.
type host struct {
	*history
	r     *rand.Rand
	boots int
	block int // of the next boot
	used  int // boots in it
	shift float64
}

func (h *history) host(r *rand.Rand) *host {
	host := &host{history: h, r: r, block: -1}
	host.open()
	return host
}

// open begins a block.
func (h *host) open() {
	h.block++
	h.used = 0
	h.shift = h.Drift * h.Noise * h.r.NormFloat64()
}

// fresh begins a block if this one has no room for so many boots.
func (h *host) fresh(need int) {
	if boots-h.used < need {
		h.open()
	}
}

// boot gives the log metric of one boot.
func (h *host) boot(commit int) float64 {
	h.fresh(1)
	h.boots++
	h.used++
	// Lognormal with the coefficient of variation asked for.
	y := h.level[commit] + h.shift + math.Sqrt(math.Log1p(h.Noise*h.Noise))*h.r.NormFloat64()
	if h.r.Float64() < h.Outliers {
		y += math.Log1p(0.5 * h.r.Float64())
	}
	return y
}
