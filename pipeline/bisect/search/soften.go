package search

import (
	"cmp"
	"math"
	"slices"
)

// fit is how well one explanation fits all samples.
type fit struct {
	posterior
	log   float64 // evidence, up to a constant that all explanations share
	table []quadratic
}

// rounds bounds how often softness and posterior are brought into line. They
// start from where the last sample left them, so few are needed, and one alone
// is a bound too.
const rounds = 12

// soften fits an explanation whose samples may be outliers. Which of them are
// is not known, so each has a probability of being one, given the levels; and
// the levels have a distribution, given those. The two are brought into line by
// turns, and the evidence is the bound that this raises (variational Bayes,
// Attias 1999; for one scale alone it is the closed form itself). A sample far
// from where an explanation puts it thus costs that explanation the price of
// an outlier, and no more.
func (m *model) soften(f *fit, samples []sample, blocks int, pattern []uint8, columns int, soft []float64, most int) {
	last := math.Inf(-1)
	for range most {
		m.solve(&f.posterior, samples, blocks, pattern, columns, soft)
		price := m.reweigh(f, samples, blocks, pattern, columns, soft)
		f.log = f.posterior.log + price
		if f.log-last < 1e-3 {
			break
		}
		last = f.log
	}
}

const (
	// suspectFrom is the squared distance, in the noise found, from which on a
	// sample is tried as the outlier that it does not look to be, since it has
	// made the noise as large or drawn the level to itself.
	suspectFrom = 3
	// suspects is how many are, each alone.
	suspects = 2
	// suspectsUntil is the number of samples beyond which none is: one cannot
	// hide among so many.
	suspectsUntil = 30
)

// settle is soften from several starts: of two samples that should be equal
// and are not, either may be the outlier, and half way between them is no
// answer. The evidence is the sum over the answers that differ, and the
// posterior that of the best.
func (m *model) settle(f *fit, samples []sample, blocks int, pattern []uint8, columns int, soft []float64) {
	m.soften(f, samples, blocks, pattern, columns, soft, rounds)
	if n := len(samples); n < 4 || n > suspectsUntil {
		return // three values have no outlier
	}
	far := make([]float64, len(samples))
	order := make([]int, len(samples))
	for i := range samples {
		far[i], order[i] = f.far(samples[i], pattern), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(far[b], far[a]) })
	found := [][]float64{slices.Clone(soft)}
	logs := []float64{f.log}
	for _, i := range order[:suspects] {
		if far[i] < suspectFrom || soft[i] < 0.5 {
			continue
		}
		start := make([]float64, len(samples))
		for k := range start {
			start[k] = 1
		}
		start[i] = 0.01
		var other fit
		m.soften(&other, samples, blocks, pattern, columns, start, rounds)
		if slices.ContainsFunc(found, func(x []float64) bool { return alike(x, start) }) {
			continue
		}
		found = append(found, slices.Clone(start))
		logs = append(logs, other.log)
		if other.log > f.log {
			*f = other
			copy(soft, start)
		}
	}
	f.log = logSum(logs)
}

// far is the expected squared distance of a sample, in the noise.
func (f *fit) far(s sample, pattern []uint8) float64 {
	d := f.distance(s.block, int(pattern[s.site]))
	return d.a*s.value*s.value - 2*d.b*s.value + d.c
}

// alike says that the same samples are outliers.
func alike(a, b []float64) bool {
	for i := range a {
		if math.Abs(a[i]-b[i]) > 0.3 {
			return false
		}
	}
	return true
}

// reweigh gives each sample the softness that its distance asks for, and
// returns what that costs the evidence.
func (m *model) reweigh(f *fit, samples []sample, blocks int, pattern []uint8, columns int, soft []float64) float64 {
	patterns := 1 << (columns - 1)
	flat := f.flat()
	if flat {
		blocks = 1
	}
	f.table = f.table[:0]
	for b := range blocks {
		for x := range patterns {
			f.table = append(f.table, f.distance(b, x))
		}
	}
	var price float64
	for i, s := range samples {
		at := int(pattern[s.site])
		if !flat {
			at += s.block * patterns
		}
		d := f.table[at]
		r := max(0, d.a*s.value*s.value-2*d.b*s.value+d.c)
		// The bound at the weights just found, with the posterior that still
		// stands on the old ones.
		log, v := m.tail.at(r)
		price += log + 0.5*r*soft[i]
		soft[i] = v
	}
	return price
}

// tail is the density of a sample at a distance, all scales together, and the
// softness there.
type tail struct {
	wide []weighted
	log  []float64 // per step of the distance
	soft []float64
}

// The table goes to 20 standard deviations; few samples lie farther out.
const (
	tailSteps = 800
	tailEnd   = 20.0
)

func newTail(wide []weighted) tail {
	t := tail{wide: wide}
	for i := range tailSteps + 2 {
		d := tailEnd / tailSteps * float64(i)
		log, soft := t.exact(d * d)
		t.log = append(t.log, log)
		t.soft = append(t.soft, soft)
	}
	return t
}

// exact gives the logarithm of the density at squared distance r, without the
// factor of the normal distribution, and the softness.
func (t *tail) exact(r float64) (log, soft float64) {
	var sum, v float64
	for _, k := range t.wide {
		k2 := k.value * k.value
		p := k.weight / k.value * math.Exp(-0.5*r/k2)
		sum += p
		v += p / k2
	}
	if sum == 0 {
		k := t.wide[len(t.wide)-1]
		return math.Log(k.weight/k.value) - 0.5*r/(k.value*k.value), 1 / (k.value * k.value)
	}
	return math.Log(sum), v / sum
}

// at is exact, from the table.
func (t *tail) at(r float64) (log, soft float64) {
	d := math.Sqrt(r) * (tailSteps / tailEnd)
	if d >= tailSteps {
		return t.exact(r)
	}
	i := int(d)
	d -= float64(i)
	return t.log[i] + d*(t.log[i+1]-t.log[i]), t.soft[i] + d*(t.soft[i+1]-t.soft[i])
}
