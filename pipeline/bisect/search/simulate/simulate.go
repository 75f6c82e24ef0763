package simulate

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"spindle/pipeline/bisect/search"
)

// Case is a row to simulate.
type Case struct {
	Table string // that it is a row of
	World
	Cost float64 // of a search, against the cheapest; fewer are run of dear ones
}

// Row is what came out of it.
type Row struct {
	Case
	Searches int
	Seed     uint64
	Spindle  Spindle
	// Told is how spindle does when it is told the noise and the share of
	// outliers, as whoever picks the best of the others knows them; not of dear
	// cases.
	Told Spindle
	// Git is git bisect run with 1, 3 and 5 boots a step, each end booted as
	// often; GitEqual the cheapest that finds the culprit as often as spindle,
	// K 0 if none does.
	Git      []Peer
	GitEqual Peer
	// PassFail is the cheapest Bayesian search of passes and failures that
	// finds it as often; if none does, the one that finds it most often.
	PassFail Peer
}

// Spindle is how package search did.
type Spindle struct {
	Decided float64 // share of the searches that named a commit or a set
	Right   float64 // share of those that were right
	Found   float64 // share of all searches that were right
	Set     float64 // mean size of what was named
	None    float64 // share that saw no difference
	Second  float64 // share that noticed a second change
	Both    float64 // share that have both changes where they are
	Boots   float64 // mean
	P95     float64 // of boots
	Builds  float64 // mean number of failed builds
}

// Peer is how another way did.
type Peer struct {
	K          int     // boots a step
	Ends       int     // boots of each end
	Median     bool    // instead of the mean
	Paired     bool    // with the good end beside it in each step
	Before     Beta    // prior of the rate of failures before the culprit
	After      Beta    // and after it
	Confidence float64 // that it stops at
	Found      float64 // share of searches that were right
	Boots      float64 // mean

	boots, right int
}

// dear is the cost from which on a case is simulated once only.
const dear = 5

// Run simulates one case: as many searches, or of a dear case fewer, but 20 at
// least. The same seed gives the same row.
func Run(ctx context.Context, c Case, searches int, seed uint64) (Row, error) {
	n := max(min(searches, 20), int(float64(searches)/max(1, c.Cost)))
	row := Row{Case: c, Searches: n, Seed: seed}
	spindle := func(o search.Options) (Spindle, error) {
		all := make([]outcome, n)
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(runtime.GOMAXPROCS(0))
		for i := range n {
			group.Go(func() (err error) {
				all[i], err = c.history(seed, i).spindle(ctx, noise(seed, i, 0), o)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return Spindle{}, err
		}
		return summary(all), nil
	}
	var err error
	if row.Spindle, err = spindle(search.Options{}); err != nil {
		return row, err
	}
	if c.Effect == 0 || c.Second != 0 {
		return row, nil // nothing there to compare
	}
	if c.Cost < dear {
		if row.Told, err = spindle(search.Options{Noise: c.Noise, Outliers: max(c.Outliers, 0.001)}); err != nil {
			return row, err
		}
	}
	// Peers are cheap to simulate: more searches, so that chance favours none.
	peers := max(n, searches)
	git := func(s script) (Peer, error) {
		p := Peer{K: s.k, Ends: s.ends, Median: s.median, Paired: s.paired}
		for i := range peers {
			if err := ctx.Err(); err != nil {
				return p, err
			}
			p.count(c.history(seed, i).gitBisect(noise(seed, i, 1), s), peers)
		}
		return p, nil
	}
	// As often, within one standard error of what spindle was seen to reach.
	f := row.Spindle.Found
	enough := f - math.Sqrt(f*(1-f)/float64(n))
	for _, k := range []int{1, 3, 5, 9, 15, 25, 45, 75, 125, 225} {
		for _, s := range scripts(k, c.Drift > 0) {
			if shown := k <= 5 && s == (script{k: k, ends: k}); !shown && row.GitEqual.K > 0 && row.GitEqual.Boots < float64(k)*math.Log2(float64(c.Commits)) {
				continue // cannot be cheaper
			}
			p, err := git(s)
			if err != nil {
				return row, err
			}
			if k <= 5 && s.ends == k && !s.median && !s.paired {
				row.Git = append(row.Git, p)
			}
			if p.Found >= enough && (row.GitEqual.K == 0 || p.Boots < row.GitEqual.Boots) {
				row.GitEqual = p
			}
		}
	}
	best, err := c.passFail(ctx, n, seed, enough)
	row.PassFail = best
	return row, err
}

// passFail gives the best of the searches of passes and failures. They take as
// long to simulate as spindle itself, so a few searches of each tell which are
// worth the rest.
func (c Case) passFail(ctx context.Context, n int, seed uint64, enough float64) (Peer, error) {
	const finalists = 4
	try := func(j judge, n int) (Peer, error) {
		p := Peer{K: 1, Ends: j.ends, Before: j.before, After: j.after, Confidence: j.confidence}
		g := newGammas(j)
		for i := range n {
			if err := ctx.Err(); err != nil {
				return p, err
			}
			p.count(c.history(seed, i).passFail(noise(seed, i, 2), j, g), n)
		}
		return p, nil
	}
	few := max(4, int(20/c.Cost))
	all := judges()
	first := make([]Peer, len(all))
	order := make([]int, len(all))
	for i, j := range all {
		p, err := try(j, min(n, few))
		if err != nil {
			return Peer{}, err
		}
		first[i], order[i] = p, i
	}
	slices.SortStableFunc(order, func(a, b int) int { return first[a].compare(first[b], enough-0.05) })
	var best Peer
	for _, i := range order[:finalists] {
		p, err := try(all[i], n)
		if err != nil {
			return Peer{}, err
		}
		if best.K == 0 || p.compare(best, enough) < 0 {
			best = p
		}
	}
	return best, nil
}

// compare is negative if p is better than q: right often enough and cheaper,
// or, if neither is, right more often.
func (p Peer) compare(q Peer, enough float64) int {
	good, fine := p.Found >= enough, q.Found >= enough
	switch {
	case good && fine:
		return cmp.Compare(p.Boots, q.Boots)
	case good:
		return -1
	case fine:
		return 1
	}
	return cmp.Compare(q.Found, p.Found)
}

func (c Case) history(seed uint64, i int) *history {
	return c.draw(rand.New(rand.NewPCG(seed, uint64(i))))
}

// noise is a stream of its own for each way, of the same history.
func noise(seed uint64, i, way int) *rand.Rand {
	return rand.New(rand.NewPCG(seed^0x9e3779b97f4a7c15, uint64(i)<<8|uint64(way)))
}

func scripts(k int, drift bool) []script {
	var out []script
	for _, ends := range []int{1, 2, 4} {
		s := script{k: k, ends: k * ends}
		out = append(out, s)
		if k > 1 {
			out = append(out, script{k: k, ends: k * ends, median: true})
		}
		if drift {
			out = append(out, script{k: k, ends: k * ends, paired: true})
		}
	}
	return out
}

func judges() []judge {
	var out []judge
	for _, ends := range []int{1, 3, 10, 30, 100} {
		for _, priors := range [][2]Beta{
			{defaultBefore, defaultAfter},
			{{0.01, 0.99}, {0.99, 0.01}},
			{{1, 4}, {4, 1}},
		} {
			out = append(out, judge{ends, priors[0], priors[1], 0.95})
		}
	}
	return out
}

func (p *Peer) count(o outcome, n int) {
	p.boots += o.boots
	if o.right {
		p.right++
	}
	p.Boots, p.Found = float64(p.boots)/float64(n), float64(p.right)/float64(n)
}

func summary(all []outcome) Spindle {
	var s Spindle
	n := float64(len(all))
	share := func(x *float64, yes bool) {
		if yes {
			*x++
		}
	}
	var boots []float64
	var size float64
	for _, o := range all {
		share(&s.Decided, o.decided)
		share(&s.Found, o.right)
		share(&s.None, o.none)
		share(&s.Second, o.second)
		share(&s.Both, o.both)
		s.Boots += float64(o.boots) / n
		s.Builds += float64(o.builds) / n
		size += float64(o.size) / n
		boots = append(boots, float64(o.boots))
	}
	for _, x := range []*float64{&s.Decided, &s.Found, &s.None, &s.Second, &s.Both} {
		*x /= n
	}
	if s.Decided > 0 {
		s.Right = s.Found / s.Decided
		s.Set = size / s.Decided
	}
	s.P95 = quantile(boots, 0.95)
	return s
}
