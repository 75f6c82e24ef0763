package search

import "math"

// model holds what is believed before the first sample.
//
// A sample of a commit in block b is
//
//	y = level + change1*x1 + change2*x2 + h[b] + e
//
// with x 1 where a culprit makes the commit bad. Given the scale s of the
// noise, e is normal with variance s², or with variance (k s)² for an outlier;
// h is normal with variance rho s²; the changes are normal with standard
// deviation D where s is at the centre of its prior, and in proportion to s
// elsewhere; the level is anything. s² has an inverse gamma prior. This is the
// normal-inverse-gamma model of linear regression, whose evidence is known in
// closed form (Bernardo and Smith, Bayesian Theory, 1994, 5.2.1). Of D, rho and
// the centre nothing is assumed but that they are among the values below, each
// as likely as its weight, and the evidence is summed over all of them.
type model struct {
	noise  []weighted // centre of the prior of s
	change []weighted // D
	shift  []weighted // rho: variance of the host from block to block, in s²
	tail   tail       // of k: scale of a sample; 1 is no outlier
}

type weighted struct{ value, weight float64 }

// shape is that of the inverse gamma prior: as if four samples had been seen
// at each of its centres, which are a factor of three apart.
const shape = 2

func newModel(noise, outliers float64) model {
	m := model{
		noise:  []weighted{{0.003, 1}, {0.01, 2}, {0.03, 2}, {0.1, 1}},
		change: []weighted{{0.03, 1}, {0.1, 2}, {0.4, 1}},
		shift:  []weighted{{0, 4}, {0.3, 1}, {1, 1}, {4, 1}, {20, 1}, {200, 1}},
		// The wide scale bounds what one boot can be worth, however far it is from
		// where it should be: an outlier may look like the other level. The price
		// are boots to make sure, where there are no outliers a third of one to
		// one in a search; see simulation.md.
		tail: newTail([]weighted{{1, 1 - outliers}, {5, 0.4 * outliers}, {30, 0.6 * outliers}}),
	}
	if noise > 0 {
		m.noise = []weighted{{noise / 3, 1}, {noise, 4}, {noise * 3, 1}}
	}
	return m
}

// tally is what a block's samples sum up to, by pattern: bit 0 of a pattern is
// x1, bit 1 is x2.
type tally struct {
	weight, value [4]float64
}

// point is the model at one set of the values that it sums over.
type point struct {
	share     float64 // posterior weight
	rho       float64
	mean      [3]float64    // level, change1, change2
	inverse   [3][3]float64 // their covariance, in s²
	precision float64       // 1/s², expected
	logWeight float64
}

// posterior is what samples and softness say about levels and noise.
type posterior struct {
	columns int // 1: no change, 2: one, 3: two
	log     float64
	dof     float64
	points  []point
	blocks  []tally
}

// basis is (1, x1, x2) of a pattern.
func basis(pattern int) [3]float64 {
	return [3]float64{1, float64(pattern & 1), float64(pattern >> 1)}
}

// solve gives the posterior in closed form. Pattern is per site, soft per
// sample; value is relative to something near the level, for the sake of the
// digits.
func (m *model) solve(p *posterior, samples []sample, blocks int, pattern []uint8, columns int, soft []float64) {
	p.columns = columns
	p.blocks = append(p.blocks[:0], make([]tally, blocks)...)
	var squares float64
	for i, s := range samples {
		t := &p.blocks[s.block]
		x := pattern[s.site]
		v := soft[i]
		t.weight[x] += v
		t.value[x] += v * s.value
		squares += v * s.value * s.value
	}
	var all tally
	several := 0
	for _, t := range p.blocks {
		for x := range 4 {
			all.weight[x] += t.weight[x]
			all.value[x] += t.value[x]
		}
	}
	if blocks > 1 && blocks < len(samples) {
		several = 1
	}
	n := float64(len(samples))
	shapeN := shape + (n-1)/2
	p.dof = 2 * shapeN
	p.points = p.points[:0]
	shifts := m.shift
	if several == 0 {
		shifts = shifts[:1] // a shift cannot be told from the level, or from noise
	}
	for _, shift := range shifts {
		rho := shift.value
		var cross [3][3]float64
		var right [3]float64
		add := func(t *tally, k float64) float64 {
			// The block's sums along the columns.
			var a [3]float64
			var y float64
			for x := range 4 {
				w := t.weight[x]
				if w == 0 {
					continue
				}
				z := basis(x)
				for i := range columns {
					a[i] += w * z[i]
				}
				y += t.value[x]
			}
			for i := range columns {
				for j := range columns {
					cross[i][j] -= k * a[i] * a[j]
				}
				right[i] -= k * a[i] * y
			}
			return k * y * y
		}
		for x := range 4 {
			w := all.weight[x]
			if w == 0 {
				continue
			}
			z := basis(x)
			for i := range columns {
				for j := range columns {
					cross[i][j] += w * z[i] * z[j]
				}
				right[i] += all.value[x] * z[i]
			}
		}
		rest := squares
		constant := math.Log(shift.weight)
		if rho > 0 {
			for b := range p.blocks {
				t := &p.blocks[b]
				total := t.weight[0] + t.weight[1] + t.weight[2] + t.weight[3]
				rest -= add(t, rho/(1+rho*total))
				constant -= 0.5 * math.Log1p(rho*total)
			}
		}
		for _, noise := range m.noise {
			start := shape * noise.value * noise.value
			changes := m.change
			if columns == 1 {
				changes = changes[:1]
			}
			for _, change := range changes {
				ratio := noise.value * noise.value / (change.value * change.value)
				q := point{rho: rho}
				lambda := cross
				for i := 1; i < columns; i++ {
					lambda[i][i] += ratio
				}
				det := invert(&lambda, columns, &q.inverse)
				explained := 0.0
				for i := range columns {
					for j := range columns {
						q.mean[i] += q.inverse[i][j] * right[j]
					}
					explained += q.mean[i] * right[i]
				}
				end := start + 0.5*max(0, rest-explained)
				q.precision = shapeN / end
				q.logWeight = constant + math.Log(noise.weight) - 0.5*math.Log(det) +
					shape*math.Log(start) - shapeN*math.Log(end)
				if columns > 1 {
					q.logWeight += math.Log(change.weight) + 0.5*float64(columns-1)*math.Log(ratio)
				} else {
					q.logWeight += math.Log(m.changeWeight())
				}
				p.points = append(p.points, q)
			}
		}
	}
	top := math.Inf(-1)
	for i := range p.points {
		top = max(top, p.points[i].logWeight)
	}
	var sum float64
	for i := range p.points {
		q := &p.points[i]
		q.share = math.Exp(q.logWeight - top)
		sum += q.share
	}
	p.log = top + math.Log(sum)
	kept := p.points[:0]
	for _, q := range p.points {
		if q.share /= sum; q.share > 1e-4 {
			kept = append(kept, q)
		}
	}
	p.points = kept
}

func (m *model) changeWeight() (sum float64) {
	for _, c := range m.change {
		sum += c.weight
	}
	return sum
}

// invert gives the inverse of the upper left n rows of a symmetric positive
// matrix, and its determinant.
func invert(a *[3][3]float64, n int, out *[3][3]float64) float64 {
	switch n {
	case 1:
		out[0][0] = 1 / a[0][0]
		return a[0][0]
	case 2:
		det := a[0][0]*a[1][1] - a[0][1]*a[0][1]
		out[0][0], out[1][1] = a[1][1]/det, a[0][0]/det
		out[0][1] = -a[0][1] / det
		out[1][0] = out[0][1]
		return det
	}
	c00 := a[1][1]*a[2][2] - a[1][2]*a[1][2]
	c01 := a[0][2]*a[1][2] - a[0][1]*a[2][2]
	c02 := a[0][1]*a[1][2] - a[0][2]*a[1][1]
	det := a[0][0]*c00 + a[0][1]*c01 + a[0][2]*c02
	out[0][0], out[0][1], out[0][2] = c00/det, c01/det, c02/det
	out[1][0], out[2][0] = out[0][1], out[0][2]
	out[1][1] = (a[0][0]*a[2][2] - a[0][2]*a[0][2]) / det
	out[1][2] = (a[0][1]*a[0][2] - a[0][0]*a[1][2]) / det
	out[2][1] = out[1][2]
	out[2][2] = (a[0][0]*a[1][1] - a[0][1]*a[0][1]) / det
	return det
}

// at gives, for one point, where a sample of a pattern in a block lies and the
// variance of that place in s², without the noise of the sample itself. A
// block outside of the known ones is one without samples.
func (p *posterior) at(q *point, block, pattern int) (mean, variance float64) {
	z := basis(pattern)
	variance = q.rho
	if q.rho > 0 && block >= 0 && block < len(p.blocks) {
		t := &p.blocks[block]
		var a [3]float64
		var y, total float64
		for x := range 4 {
			w := t.weight[x]
			b := basis(x)
			for i := range p.columns {
				a[i] += w * b[i]
			}
			total += w
			y += t.value[x]
		}
		k := q.rho / (1 + q.rho*total)
		variance = k
		for i := range p.columns {
			z[i] -= k * a[i]
		}
		mean = k * y
	}
	for i := range p.columns {
		mean += z[i] * q.mean[i]
		for j := range p.columns {
			variance += z[i] * z[j] * q.inverse[i][j]
		}
	}
	return mean, variance
}

// flat says that no block is shifted.
func (p *posterior) flat() bool {
	for i := range p.points {
		if p.points[i].rho > 0 {
			return false
		}
	}
	return true
}

// quadratic is the expected squared distance, in s², of a value y from a place:
// a y² - 2 b y + c.
type quadratic struct{ a, b, c float64 }

func (p *posterior) distance(block, pattern int) quadratic {
	var d quadratic
	for i := range p.points {
		q := &p.points[i]
		mean, variance := p.at(q, block, pattern)
		w := q.share * q.precision
		d.a += w
		d.b += w * mean
		d.c += w*mean*mean + q.share*variance
	}
	return d
}
