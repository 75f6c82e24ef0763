package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"spindle/reports/stat/internal/others"
)

// A run that repeats by itself must not find a change that is not there more
// often than one with a fixed number of blocks.
func TestSimulatedAuto(t *testing.T) {
	for name, draw := range cases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(11, 0))
			auto := Auto{Most: 30, See: 0.05}
			m := Metric{Looks: len(auto.Looks()), table: table{}}
			claims, blocks := 0, 0
			draws := *drawsFlag
			for range draws {
				all := draw(r, auto.Most, 0)
				v, n := auto.run(m, all)
				blocks += n
				if v.Kind == Better || v.Kind == Worse {
					claims++
				}
			}
			rate := float64(claims) / float64(draws)
			t.Logf("%.2f %% false claims, %.1f blocks on average", 100*rate, float64(blocks)/float64(draws))
			if rate > limit(0.055, draws) {
				t.Errorf("%.2f %% false claims, want 5.5 %% at most", 100*rate)
			}
		})
	}
}

// run looks at the first of the pairs, then at more, as the rule says.
func (a Auto) run(m Metric, all []Pair) (Verdict, int) {
	for n := a.Looks()[0]; ; {
		v := m.Compare(all[:n])
		step := a.After(n, []Verdict{v}, 0, 0)
		if step.Next == 0 {
			return v, n
		}
		n = step.Next
	}
}

// Without the price for looking, the same run is wrong far more often: the
// simulation would see it.
func TestLookingIsNotFree(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 0))
	claims := 0
	const draws = 1000
	for range draws {
		all := draw(r, 30, 0, noises["lognormal"])
		for _, n := range (Auto{Most: 30}).Looks() {
			if k := Compare(all[:n], Lower).Kind; k == Better || k == Worse {
				claims++
				break
			}
		}
	}
	if rate := float64(claims) / draws; rate < 0.10 {
		t.Errorf("unadjusted looks are wrong in %.1f %%, which is too seldom for this test to show anything", 100*rate)
	}
}

// A change of 5 % at a CV of 2 % is seen by five blocks with a power of 0.9,
// where the host does not drift from block to block; where it does, pairs see
// what they can. A run that repeats by itself sees it in a handful of blocks.
func TestSimulatedPower(t *testing.T) {
	noise := func(r *rand.Rand) float64 { return math.Exp(0.02 * r.NormFloat64()) }
	draws := max(*drawsFlag, 1000)
	power := func(n int, host float64) float64 {
		r := rand.New(rand.NewPCG(13, uint64(n)))
		m := Metric{table: table{}}
		seen := 0
		for range draws {
			if m.Compare(drawOn(r, host, n, 0.05, noise, noise)).Kind == Worse {
				seen++
			}
		}
		return float64(seen) / float64(draws)
	}
	near := func(want float64) float64 { return 3 * math.Sqrt(want*(1-want)/float64(draws)) }
	for _, n := range []int{3, 5, 6, 10} {
		var all []string
		for _, host := range []float64{0, 0.01, 0.02, 0.04, 0.1, 1} {
			p := power(n, host)
			all = append(all, fmt.Sprintf("%.3f", p))
			if n == 5 && host == 0 && p < 0.9-near(0.9) {
				t.Errorf("power is %.3f on a steady host, want 0.9 at least", p)
			}
			// The noncentral t with a spread of 2 % in each arm, paired.
			want, _ := newPower(n, float64(n-1), Confidence).at(math.Log(1.05) / (0.02 * math.Sqrt2))
			if host == 1 && math.Abs(p-want) > near(want) {
				t.Errorf("n = %d: power is %.3f on a host that drifts, want %.3f as the noncentral t has it", n, p, want)
			}
		}
		t.Logf("n = %-2d power on hosts that scatter by 0, 1, 2, 4, 10 and 100 %%: %s", n, strings.Join(all, " "))
	}

	r := rand.New(rand.NewPCG(13, 0))
	auto := Auto{Most: 30, See: 0.05}
	looking := Metric{Looks: len(auto.Looks()), table: table{}}
	alone, late, blocks := 0, 0, 0
	for range *drawsFlag {
		v, n := auto.run(looking, draw(r, auto.Most, 0.05, noise))
		blocks += n
		switch v.Kind {
		case Worse:
			late++
		case NoChange:
			alone++
		}
	}
	share := func(n int) float64 { return float64(n) / float64(*drawsFlag) }
	t.Logf("auto: worse in %.3f, no change in %.3f, %.1f blocks on average", share(late), share(alone), share(blocks))
	if share(late) < 0.85 { // of 0.95
		t.Errorf("a run that repeats by itself sees the change in %.3f, want most", share(late))
	}
}

// Over 48 conditions, of which some changed and others did not, at most 5 % of
// the claims are false on average.
func TestSimulatedDiscoveries(t *testing.T) {
	const conditions = 48
	all := cases()
	for _, name := range []string{"lognormal", "lognormal, steady host", "bimodal", "bimodal, steady host", "drifting", "outliers", "coarse"} {
		draw := all[name]
		for _, n := range []int{3, 5, 10} {
			if n == 10 && *drawsFlag < full {
				continue
			}
			for _, changed := range []int{0, 12} {
				t.Run(fmt.Sprintf("%s n=%d changed=%d", name, n, changed), func(t *testing.T) {
					t.Parallel()
					r := rand.New(rand.NewPCG(14, uint64(n)))
					runs := max(*drawsFlag/20, 50)
					var sum, sum2 float64
					found := 0
					for range runs {
						var cs []Comparison
						for i := range conditions {
							change := 0.0
							if i < changed {
								change = 0.3
							}
							cs = append(cs, Comparison{Pairs: draw(r, n, change), Family: "runtime"})
						}
						claims, wrong := 0, 0
						for i, v := range Judge(cs, 0.05) {
							if v.Kind == Better || v.Kind == Worse {
								claims++
								if i >= changed {
									wrong++
								}
							}
						}
						found += claims - wrong
						share := float64(wrong) / float64(max(claims, 1))
						sum, sum2 = sum+share, sum2+share*share
					}
					mean := sum / float64(runs)
					se := math.Sqrt(max(sum2/float64(runs)-mean*mean, 0.05*0.95/float64(runs)) / float64(runs))
					t.Logf("%.2f %% ± %.2f of claims are false; %.1f of %d changes found", 100*mean, 100*se, float64(found)/float64(runs), changed)
					if mean > 0.05+3*math.Sqrt(0.05*0.95/float64(runs)) {
						t.Errorf("%.1f %% of claims are false, want 5 %% at most", 100*mean)
					}
				})
			}
		}
	}
}

// Events that happen at random: counts with zeros and ties, compared by
// difference.
func TestSimulatedCounts(t *testing.T) {
	for _, mean := range []float64{0.2, 1, 4, 30} {
		for _, n := range []int{3, 5, 10} {
			t.Run(fmt.Sprintf("mean=%v n=%d", mean, n), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(15, uint64(n)))
				m := Metric{Resolution: 1, table: table{}}
				claims := 0
				draws := *drawsFlag
				for range draws {
					var ps []Pair
					for b := range n {
						ps = append(ps, Pair{Block: b + 1, Base: float64(poisson(r, mean)), Arm: float64(poisson(r, mean))})
					}
					if k := m.Compare(ps).Kind; k == Better || k == Worse {
						claims++
					}
				}
				rate := float64(claims) / float64(draws)
				t.Logf("%.2f %% false claims", 100*rate)
				if rate > limit(0.05, draws) {
					t.Errorf("%.2f %% false claims, want 5 %% at most", 100*rate)
				}
			})
		}
	}
}

// poisson counts events before the time mean, at a rate of 1.
func poisson(r *rand.Rand, mean float64) int {
	n := -1
	for t := 0.0; t < mean; n++ {
		t += r.ExpFloat64()
	}
	return n
}

// Runs that are stopped at a limit do not make false claims, and those that
// hide a large change are still seen.
func TestSimulatedLimits(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 0))
	stop := func(v float64) (float64, Known) {
		if v > 105 {
			return 105, AtLeast
		}
		return v, Exact
	}
	m := Metric{table: table{}}
	for change, most := range map[float64]float64{0: 0.05, 0.2: 1} {
		claims, draws := 0, *drawsFlag
		for range draws {
			var ps []Pair
			for b := range 8 {
				p := Pair{Block: b + 1}
				p.Base, p.BaseKnown = stop(100 * math.Exp(0.03*r.NormFloat64()))
				p.Arm, p.ArmKnown = stop(100 * (1 + change) * math.Exp(0.03*r.NormFloat64()))
				ps = append(ps, p)
			}
			if k := m.Compare(ps).Kind; k == Better || k == Worse {
				claims++
			}
		}
		rate := float64(claims) / float64(draws)
		t.Logf("change %v: %.3f claimed", change, rate)
		if rate > limit(most, draws) {
			t.Errorf("change %v: claimed in %.3f, want at most %v", change, rate, most)
		}
		if change > 0 && rate < 0.5 {
			t.Errorf("change %v: claimed in %.3f only", change, rate)
		}
	}
}

// The warnings about the host come when they should and seldom else.
func TestSimulatedHostWarnings(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 0))
	draws := *drawsFlag / 2
	count := func(n int, make func() []float64, warns func([]float64) bool) float64 {
		hits := 0
		for range draws {
			if warns(make()) {
				hits++
			}
		}
		return float64(hits) / float64(draws)
	}
	white := func(n int) func() []float64 {
		return func() (out []float64) {
			for range n {
				out = append(out, r.NormFloat64())
			}
			return out
		}
	}
	red := func() (out []float64) { // each is mostly the one before
		x := 0.0
		for range 20 {
			x = 0.8*x + r.NormFloat64()
			out = append(out, x)
		}
		return out
	}
	resemble := func(v []float64) bool { return neighbours(v) <= runsLevel }
	for _, n := range []int{8, 12, 30} {
		if rate := count(n, white(n), resemble); rate > limit(runsLevel, draws)+0.005 {
			t.Errorf("n = %d: independent blocks are called alike in %.2f %%", n, 100*rate)
		}
	}
	if rate := count(20, red, resemble); rate < 0.6 {
		t.Errorf("blocks that follow each other are called alike in %.2f only", rate)
	}
	for _, n := range []int{5, 10, 20} {
		trend := func(v []float64) bool { _, p := Trend(v); return p <= driftLevel }
		if rate := count(n, white(n), trend); rate > limit(driftLevel, draws) {
			t.Errorf("n = %d: a steady host is called drifting in %.2f %%", n, 100*rate)
		}
	}
}

// Side by side on the same samples: this package, benchstat's test (Mann and
// Whitney's, unpaired), mmtests' rule (intervals of the means overlap or not)
// and "the means differ by 5 %".
func TestSimulatedSideBySide(t *testing.T) {
	ours := Metric{table: table{}}
	rules := []struct {
		name string
		says func([]Pair) bool
	}{
		{"spindle", func(ps []Pair) bool { k := ours.Compare(ps).Kind; return k == Worse || k == Better }},
		{"benchstat", others.Benchstat[Pair](split)},
		{"mmtests", others.Overlap[Pair](split)},
		{"means differ by 5 %", others.Means[Pair](split)},
	}
	draws := *drawsFlag
	for _, n := range []int{3, 5, 10} {
		for _, name := range []string{"lognormal, steady host", "lognormal", "outliers", "bimodal", "drifting"} {
			r := rand.New(rand.NewPCG(18, uint64(n)))
			draw := cases()[name]
			for _, rule := range rules {
				wrong, missed := 0, 0
				for range draws {
					if rule.says(draw(r, n, 0)) {
						wrong++
					}
					if !rule.says(draw(r, n, 0.1)) {
						missed++
					}
				}
				rate := float64(wrong) / float64(draws)
				t.Logf("n = %-2d %-24s %-20s %5.1f %% false, %5.1f %% of +10 %% missed", n, name, rule.name, 100*rate, 100*float64(missed)/float64(draws))
				if rule.name == "spindle" && rate > limit(0.055, draws) {
					t.Errorf("n = %d %s: %.2f %% false claims", n, name, 100*rate)
				}
			}
		}
	}
}

func split(p Pair) (base, arm float64) { return p.Base, p.Arm }
