package search

import "math"

// fit is how well one explanation fits all samples.
type fit struct {
	posterior
	log float64 // evidence, up to a constant that all explanations share
}

// rounds bounds how often softness and posterior are brought into line. They
// start from where the last sample left them, so two or three rounds are usual.
const rounds = 12

// soften fits an explanation whose samples may be outliers. Which of them are
// is not known, so each has a probability of being one, given the levels; and
// the levels have a distribution, given those. The two are brought into line by
// turns, and the evidence is the bound that this raises (variational Bayes,
// Attias 1999; for one scale alone it is the closed form itself). A sample far
// from where an explanation puts it thus costs that explanation the price of
// an outlier, and no more.
func (m *model) soften(f *fit, samples []sample, blocks int, pattern []uint8, columns int, soft []float64) {
	patterns := 1 << (columns - 1)
	var table []quadratic
	last := math.Inf(-1)
	for range rounds {
		m.solve(&f.posterior, samples, blocks, pattern, columns, soft)
		table = table[:0]
		for b := range blocks {
			for x := range patterns {
				table = append(table, f.distance(b, x))
			}
		}
		var price float64
		for i, s := range samples {
			d := table[s.block*patterns+int(pattern[s.site])]
			r := max(0, d.a*s.value*s.value-2*d.b*s.value+d.c)
			var sum, v float64
			for _, k := range m.wide {
				k2 := k.value * k.value
				p := k.weight / k.value * math.Exp(-0.5*r/k2)
				sum += p
				v += p / k2
			}
			v /= sum
			// The bound at the weights just found, with the posterior that
			// still stands on the old ones.
			price += math.Log(sum) + 0.5*r*soft[i]
			soft[i] = v
		}
		f.log = f.posterior.log + price
		if f.log-last < 1e-3 {
			break
		}
		last = f.log
	}
}
