package simulate

import (
	"math"
	"math/rand/v2"
)

// Beta is a prior of the rate of failures, as if so many had been seen.
type Beta struct{ Fail, Pass float64 }

// judge is how a Bayesian search of passes and failures is set up.
type judge struct {
	ends       int // boots of each end for the threshold; they are evidence too
	before     Beta
	after      Beta
	confidence float64
}

// defaults are those of git_bayesect.
var (
	defaultBefore = Beta{0.05, 0.95}
	defaultAfter  = Beta{0.9, 0.1}
)

// passFail runs a Bayesian search of passes and failures on a history.
func (h *history) passFail(r *rand.Rand, j judge, lg gammas) outcome {
	host := h.host(r)
	last := len(h.graph.Parents) - 1
	n := last + 1
	var ends [2][]float64
	for range j.ends {
		ends[0] = append(ends[0], host.boot(0))
		ends[1] = append(ends[1], host.boot(last))
	}
	mean := script{}
	good, bad := mean.middle(ends[0]), mean.middle(ends[1])
	threshold := (good + bad) / 2
	fails := func(y float64) bool { return (y > threshold) == (bad > good) }

	// Of each candidate: the tests it makes bad, and those of them that failed.
	tests, failed := make([]float64, n), make([]float64, n)
	var allTests, allFailed float64
	record := func(commit int, fail bool) {
		allTests++
		if fail {
			allFailed++
		}
		for i, above := range h.graph.Reachable(commit) {
			if above {
				tests[i]++
				if fail {
					failed[i]++
				}
			}
		}
	}
	for i := range j.ends {
		record(0, fails(ends[0][i]))
		record(last, fails(ends[1][i]))
	}
	left := make([]bool, n)
	for i := 1; i < n; i++ {
		left[i] = true
	}
	skipped := make([]bool, n)
	post := make([]float64, n)
	vectors := [6][]float64{}
	for i := range vectors {
		vectors[i] = make([]float64, n)
	}
	var o outcome
	for host.boots < budget {
		top := math.Inf(-1)
		for i := 1; i < n; i++ {
			post[i] = lg.after.log(failed[i], tests[i]) + lg.before.log(allFailed-failed[i], allTests-tests[i])
			top = max(top, post[i])
		}
		var sum float64
		log := math.NaN()
		for i := 1; i < n; i++ {
			// Neighbours that no test lies between are alike.
			if i > 1 && post[i]-top == log {
				post[i] = post[i-1]
			} else if log = post[i] - top; log < -40 {
				post[i] = 0
			} else {
				post[i] = math.Exp(log)
			}
			sum += post[i]
		}
		var best int
		for i := 1; i < n; i++ {
			post[i] /= sum
			if post[i] > post[best] {
				best = i
			}
		}
		// What nothing that builds lies between counts as one.
		group, mass := h.group(best, post, skipped)
		if mass >= j.confidence {
			o.decided, o.size = true, len(group)
			o.right = h.among(group)
			break
		}
		t := h.choose(post, tests, failed, allTests, allFailed, j, skipped, &vectors)
		if h.broken[t] {
			skipped[t] = true
			o.builds++
			continue
		}
		record(t, fails(host.boot(t)))
	}
	o.boots = host.boots
	return o
}

// group is the run of skipped commits around one, on a line, and its mass.
func (h *history) group(c int, post []float64, skipped []bool) ([]int, float64) {
	from, to := c, c
	for from > 1 && skipped[from-1] {
		from--
	}
	for skipped[to] {
		to++
	}
	var out []int
	var mass float64
	for i := from; i <= to; i++ {
		out = append(out, i)
		mass += post[i]
	}
	return out, mass
}

// choose gives the commit of least expected entropy.
func (h *history) choose(post, tests, failed []float64, allTests, allFailed float64, j judge, skipped []bool, v *[6][]float64) int {
	wlog := func(w float64) float64 {
		if w <= 0 {
			return 0
		}
		return w * math.Log(w)
	}
	var total [6]float64
	for i, p := range post {
		if i > 0 && p == post[i-1] && tests[i] == tests[i-1] && failed[i] == failed[i-1] {
			for k := range total {
				v[k][i] = v[k][i-1]
				total[k] += v[k][i]
			}
			continue
		}
		after := (j.after.Fail + failed[i]) / (j.after.Fail + j.after.Pass + tests[i])
		before := (j.before.Fail + allFailed - failed[i]) / (j.before.Fail + j.before.Pass + allTests - tests[i])
		v[0][i] = p * after
		v[1][i] = p * before
		v[2][i] = wlog(p * after)
		v[3][i] = wlog(p * before)
		v[4][i] = wlog(p * (1 - after))
		v[5][i] = wlog(p * (1 - before))
		for k := range total {
			total[k] += v[k][i]
		}
	}
	var above [6][]float64
	for k := range above {
		above[k] = h.graph.Above(v[k])
	}
	best, least := -1, math.Inf(1)
	for t := 1; t < len(post); t++ {
		if skipped[t] {
			continue
		}
		fail := above[0][t] + total[1] - above[1][t]
		pass := 1 - fail
		logs := above[2][t] + total[3] - above[3][t] + above[4][t] + total[5] - above[5][t]
		entropy := -logs
		if fail > 0 {
			entropy += fail * math.Log(fail)
		}
		if pass > 0 {
			entropy += pass * math.Log(pass)
		}
		if entropy < least-1e-12 {
			best, least = t, entropy
		}
	}
	return best
}

// gammas are tables of the evidence of whole counts under a Beta prior.
type gammas struct{ before, after *counts }

type counts struct{ fail, pass, all []float64 }

func newGammas(j judge) gammas { return gammas{newCounts(j.before), newCounts(j.after)} }

func newCounts(b Beta) *counts {
	table := func(start float64) []float64 {
		x := make([]float64, budget+100)
		for i := 1; i < len(x); i++ {
			x[i] = x[i-1] + math.Log(start+float64(i-1))
		}
		return x
	}
	return &counts{table(b.Fail), table(b.Pass), table(b.Fail + b.Pass)}
}

// log is the logarithm of the evidence of so many failures among all tests.
func (c *counts) log(failed, tests float64) float64 {
	return c.fail[int(failed)] + c.pass[int(tests-failed)] - c.all[int(tests)]
}
