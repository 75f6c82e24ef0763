package search

import (
	"math"
	"math/rand/v2"
	"testing"
)

// plain is a model with one value of everything and no outliers, whose
// evidence can be had by integrating.
func plain(noise, change, rho float64) model {
	return model{
		noise:  []weighted{{noise, 1}},
		change: []weighted{{change, 1}},
		shift:  []weighted{{rho, 1}},
		tail:   newTail([]weighted{{1, 1}}),
	}
}

// density is the logarithm of the density of a normal distribution with mean
// zero, from its covariance, by Cholesky's decomposition.
func density(y []float64, cov [][]float64) float64 {
	n := len(y)
	l := make([][]float64, n)
	var log float64
	z := make([]float64, n)
	for i := range n {
		l[i] = make([]float64, n)
		for j := 0; j <= i; j++ {
			sum := cov[i][j]
			for k := range j {
				sum -= l[i][k] * l[j][k]
			}
			if i == j {
				l[i][i] = math.Sqrt(sum)
			} else {
				l[i][j] = sum / l[j][j]
			}
		}
		z[i] = y[i]
		for k := range i {
			z[i] -= l[i][k] * z[k]
		}
		z[i] /= l[i][i]
		log -= 0.5*z[i]*z[i] + math.Log(l[i][i]) + 0.5*math.Log(2*math.Pi)
	}
	return log
}

// brute is the logarithm of the evidence by the definition of the model: the
// samples' joint normal distribution at every scale of the noise, summed over
// the scales. The level has a prior so wide that it is flat.
func brute(m model, samples []sample, pattern []uint8, columns int) float64 {
	const flat = 100 // variance
	noise, change, rho := m.noise[0].value, m.change[0].value, m.shift[0].value
	start := shape * noise * noise
	y := make([]float64, len(samples))
	cov := make([][]float64, len(samples))
	var logs []float64
	const step = 0.01
	for u := math.Log(noise) - 4; u < math.Log(noise)+8; u += step {
		s2 := math.Exp(2 * u)
		for i, a := range samples {
			y[i] = a.value
			cov[i] = make([]float64, len(samples))
			for j, b := range samples {
				// In units of s², as the priors are.
				v := 0.0
				if a.block == b.block {
					v += rho
				}
				if i == j {
					v++
				}
				for c := 1; c < columns; c++ {
					if (pattern[a.site]&pattern[b.site])>>(c-1)&1 == 1 {
						v += change * change / (noise * noise)
					}
				}
				cov[i][j] = s2*v + flat
			}
		}
		// Inverse gamma of s², and ds² = 2 s² du.
		prior := shape*math.Log(start) - (shape+1)*2*u - start/s2 + math.Log(2*s2)
		logs = append(logs, prior+density(y, cov)+math.Log(step))
	}
	return logSum(logs)
}

func TestEvidence(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 40 {
		m := plain(0.01+0.05*r.Float64(), 0.05+0.2*r.Float64(), 5*r.Float64())
		var samples []sample
		blocks := 1 + r.IntN(3)
		const sites = 4
		for i := range 5 + r.IntN(4) {
			samples = append(samples, sample{site: r.IntN(sites), block: i % blocks, value: 0.1 * r.NormFloat64()})
		}
		var first, firstWant float64
		for k := range 4 {
			columns := 1 + r.IntN(3)
			pattern := make([]uint8, sites)
			for i := range pattern {
				pattern[i] = uint8(r.IntN(1 << (columns - 1)))
			}
			soft := make([]float64, len(samples))
			for i := range soft {
				soft[i] = 1
			}
			var p posterior
			if blocks == 1 {
				m.shift[0].value = 0 // one block's shift is its level's
			}
			m.solve(&p, samples, blocks, pattern, columns, soft)
			want := brute(m, samples, pattern, columns)
			if k == 0 {
				// Only ratios mean something: constants are left out.
				first, firstWant = p.log, want
			}
			if got, want := p.log-first, want-firstWant; math.Abs(got-want) > 0.01 {
				t.Errorf("samples %v, pattern %v: log ratio %.4f, want %.4f", samples, pattern, got, want)
			}
		}
	}
}

// On any small history, the probability of each commit is what the definition
// gives, commit by commit, without classes.
func TestPosterior(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 60 {
		g := random(r, 5+r.IntN(8))
		n := len(g.Parents)
		weights := make([]float64, n)
		for i := range weights {
			weights[i] = float64(r.IntN(4))
		}
		weights[n-1] = 1
		s, err := New(g, Options{Good: []int{0}, Bad: n - 1, Prior: weights})
		if err != nil {
			t.Fatal(err)
		}
		s.m = plain(0.02, 0.1, 0)
		culprits := s.Candidates()
		culprit := culprits[r.IntN(len(culprits))]
		var samples []sample
		for len(samples) < minTwo-1 { // so few that two changes are not thought of
			c := r.IntN(n)
			if !s.graphHas(c) {
				continue
			}
			y := 0.02 * r.NormFloat64()
			if ancestor(g, culprit, c) {
				y += 0.1
			}
			if err := s.Observe(c, 0, y); err != nil {
				t.Fatal(err)
			}
			samples = append(samples, sample{site: c, value: y})
		}
		var total float64
		for _, c := range culprits {
			total += weights[c]
		}
		logs := []float64{math.Log(priorNone) + brute(s.m, samples, make([]uint8, n), 1)}
		for _, c := range culprits {
			pattern := make([]uint8, n)
			for i := range pattern {
				if ancestor(g, c, i) {
					pattern[i] = 1
				}
			}
			logs = append(logs, math.Log(priorOne*weights[c]/total)+brute(s.m, samples, pattern, 2))
		}
		all := logSum(logs)
		st := s.State()
		if want := math.Exp(logs[0] - all); math.Abs(st.NoChange-want) > 0.003 {
			t.Errorf("%v: no change %.4f, want %.4f", g.Parents, st.NoChange, want)
		}
		for i, c := range culprits {
			if want := math.Exp(logs[i+1] - all); math.Abs(st.Posterior[c]-want) > 0.003 {
				t.Errorf("%v: commit %d %.4f, want %.4f", g.Parents, c, st.Posterior[c], want)
			}
		}
	}
}

func (s *Search) graphHas(commit int) bool { return s.node[commit] != outside }

// With outliers the evidence is a bound. Against the sum over every way in
// which the samples can be outliers or not, probabilities are right to a few
// hundredths.
func TestOutliersEnumerated(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	var worst float64
	for range 30 {
		m := plain(0.02, 0.1, 0)
		wide := []weighted{{1, 0.95}, {10, 0.05}}
		m.tail = newTail(wide)
		const sites = 5
		var samples []sample
		truth := 1 + r.IntN(sites-1)
		for i := range 7 {
			site := i % sites
			y := 0.02 * r.NormFloat64()
			if site >= truth {
				y += 0.1
			}
			if i == 3 {
				y += 0.3 * r.Float64()
			}
			samples = append(samples, sample{site: site, value: y})
		}
		var got, want []float64
		for culprit := 1; culprit < sites; culprit++ {
			pattern := make([]uint8, sites)
			for i := culprit; i < sites; i++ {
				pattern[i] = 1
			}
			soft := make([]float64, len(samples))
			for i := range soft {
				soft[i] = 1
			}
			var f fit
			m.settle(&f, samples, 1, pattern, 2, soft)
			got = append(got, f.log)
			var ways []float64
			for out := range 1 << len(samples) {
				var log float64
				for i := range soft {
					k := wide[out>>i&1]
					soft[i] = 1 / (k.value * k.value)
					log += math.Log(k.weight / k.value)
				}
				var p posterior
				m.solve(&p, samples, 1, pattern, 2, soft)
				ways = append(ways, log+p.log)
			}
			want = append(want, logSum(ways))
		}
		a, b := logSum(got), logSum(want)
		for i := range got {
			if d := math.Abs(math.Exp(got[i]-a) - math.Exp(want[i]-b)); d > 0.1 {
				t.Logf("%v culprit %d true %d: %.3f want %.3f (log %.2f %.2f)", samples, i+1, truth, math.Exp(got[i]-a), math.Exp(want[i]-b), got[i], want[i])
			}
			worst = max(worst, math.Abs(math.Exp(got[i]-a)-math.Exp(want[i]-b)))
		}
	}
	t.Logf("worst difference of a probability: %.3f", worst)
	if worst > 0.1 {
		t.Errorf("a probability is off by %.3f", worst)
	}
}
