package search

import (
	"cmp"
	"math"
	"slices"
)

// outlook is what the next sample in one block may be, under each explanation
// that is still worth counting.
type outlook struct {
	s     *Search
	nodes []float64 // values of the sample
	step  []float64 // of the trapezoid rule
	ways  []way
}

// way is one explanation: classes a and b are those of its culprits, or -1.
type way struct {
	a, b    int
	share   float64
	density [4][]float64 // per pattern, at the nodes
	minus   [4]float64   // integral of density * log density
}

// ways beyond these, and below this share, are not looked at: what they add to
// the information is less than the quadrature loses.
const (
	mostWays   = 24
	leastShare = 1e-3
)

// spots are where the density of a place is looked at, in its standard
// deviations.
var spots = [...]float64{-9, -4, -3, -2.3, -1.7, -1.2, -0.8, -0.4, 0, 0.4, 0.8, 1.2, 1.7, 2.3, 3, 4, 9}

// places is how many of them are looked at.
const places = 8

func (s *Search) look(block int) *outlook {
	o := &outlook{s: s}
	b := slices.Index(s.blocks, block)
	type candidate struct {
		way
		fit     *fit
		columns int
	}
	all := []candidate{{way{a: -1, b: -1, share: s.mass.none}, &s.none.fit, 1}}
	for k, c := range s.classes {
		all = append(all, candidate{way{a: k, b: -1, share: s.mass.one[k]}, &c.fit, 2})
	}
	for i := range s.pairs {
		p := &s.pairs[i]
		all = append(all, candidate{way{a: p.a, b: p.b, share: s.mass.pairs[i]}, &p.fit, 3})
	}
	slices.SortStableFunc(all, func(x, y candidate) int { return cmp.Compare(y.share, x.share) })
	var sum float64
	for i, c := range all {
		if i == mostWays || c.share < leastShare {
			all = all[:i]
			break
		}
		sum += c.share
	}
	type place struct{ mean, sd, share float64 }
	var spread []place
	at := make([][4]place, len(all))
	for i, c := range all {
		for x := range 1 << (c.columns - 1) {
			d := c.fit.distance(b, x)
			mean := d.b / d.a
			at[i][x] = place{mean, math.Sqrt((1 + max(0, d.c-d.b*mean)) / d.a), c.share}
			spread = append(spread, at[i][x])
		}
	}
	slices.SortStableFunc(spread, func(x, y place) int { return cmp.Compare(y.share, x.share) })
	for _, p := range spread[:min(places, len(spread))] {
		for _, z := range spots {
			o.nodes = append(o.nodes, p.mean+z*p.sd)
		}
	}
	slices.Sort(o.nodes)
	o.nodes = slices.Compact(o.nodes)
	o.step = make([]float64, len(o.nodes))
	for i := 1; i < len(o.nodes); i++ {
		h := (o.nodes[i] - o.nodes[i-1]) / 2
		o.step[i-1] += h
		o.step[i] += h
	}
	for i, c := range all {
		w := c.way
		w.share /= sum
		for x := range 1 << (c.columns - 1) {
			p := at[i][x]
			scale := math.Log(p.sd * math.Sqrt(2*math.Pi))
			density := make([]float64, len(o.nodes))
			for n, y := range o.nodes {
				r := (y - p.mean) / p.sd
				log, _ := s.m.tail.at(r * r)
				log -= scale
				density[n] = math.Exp(log)
				w.minus[x] += o.step[n] * density[n] * log
			}
			w.density[x] = density
		}
		o.ways = append(o.ways, w)
	}
	return o
}

// gain is the information, in bits, that a sample of candidate t (or before)
// is expected to give about the culprit: the entropy of the sample less its
// entropy where the culprit is known.
func (o *outlook) gain(t int) float64 {
	part := o.s.parts(t)
	mixed := make([]float64, len(o.nodes))
	var known float64
	for i := range o.ways {
		w := &o.ways[i]
		for x := range w.density {
			if w.density[x] == nil {
				continue
			}
			share := w.share * odds(part, w.a, x&1) * odds(part, w.b, x>>1)
			if share == 0 {
				continue
			}
			known += share * w.minus[x]
			for n, d := range w.density[x] {
				mixed[n] += share * d
			}
		}
	}
	var all float64
	for n, d := range mixed {
		if d > 0 {
			all += o.step[n] * d * math.Log(d)
		}
	}
	return max(0, (known-all)/math.Ln2)
}

// odds is the probability that a culprit of a class makes the commit bad (x is
// 1) or does not. No class is never bad.
func odds(part []float64, class, x int) float64 {
	p := 0.0
	if class >= 0 {
		p = part[class]
	}
	if x == 1 {
		return p
	}
	return 1 - p
}

// parts is, per class, the share of its weight above candidate t.
func (s *Search) parts(t int) []float64 {
	part := make([]float64, len(s.classes))
	if t == before {
		return part
	}
	above := s.ancestors(t)
	for i, k := range s.class {
		if k >= 0 && above[i] {
			part[k] += s.prior[i]
		}
	}
	for k, c := range s.classes {
		part[k] = min(1, part[k]/c.prior)
	}
	return part
}
