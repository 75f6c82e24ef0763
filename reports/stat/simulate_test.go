package stat

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// From full on, the cases that add little are drawn too.
const full = 5000

// A run of the tests simulates few enough to take seconds; the tables in the
// package comment are those of
//
//	go test ./reports/stat -run Simulat -v -draws 100000 -timeout 2h
var drawsFlag = flag.Int("draws", 300, "simulated comparisons for each case")

// noises give a factor on a true value. Most have a spread of about 3 %, as
// dd's runtime on an emulated disk has.
var noises = map[string]func(*rand.Rand) float64{
	"normal":    func(r *rand.Rand) float64 { return 1 + 0.03*r.NormFloat64() },
	"lognormal": func(r *rand.Rand) float64 { return math.Exp(0.03 * r.NormFloat64()) },
	// Skewed: now and then a run takes much longer.
	"wide lognormal": func(r *rand.Rand) float64 { return math.Exp(0.5 * r.NormFloat64()) },
	// Student's t with three degrees of freedom: heavy tails, infinite kurtosis.
	"t3": func(r *rand.Rand) float64 { return math.Exp(0.03 * t3(r)) },
	// Two modes, as the placement of a file can make.
	"bimodal": func(r *rand.Rand) float64 { return (1 + 0.15*float64(r.IntN(2))) * math.Exp(0.01*r.NormFloat64()) },
	// One run in twenty takes half as long again.
	"outliers": func(r *rand.Rand) float64 {
		f := math.Exp(0.02 * r.NormFloat64())
		if r.Float64() < 0.05 {
			f *= 1.5
		}
		return f
	},
	// A clock that ticks: values come in few steps.
	"coarse": func(r *rand.Rand) float64 { return math.Round(100*math.Exp(0.03*r.NormFloat64())) / 100 },
}

func t3(r *rand.Rand) float64 {
	var chi2 float64
	for range 3 {
		z := r.NormFloat64()
		chi2 += z * z
	}
	return r.NormFloat64() / math.Sqrt(chi2/3)
}

// draw makes n blocks. The host drifts by 10 % from block to block, far more
// than the noise within one.
func draw(r *rand.Rand, n int, change float64, noise func(*rand.Rand) float64) []Pair {
	return drawOn(r, 0.1, n, change, noise, noise)
}

// drawOn makes n blocks on a host whose speed scatters by so much from block to
// block.
func drawOn(r *rand.Rand, host float64, n int, change float64, base, arm func(*rand.Rand) float64) []Pair {
	var out []Pair
	for b := range n {
		speed := 100 * math.Exp(host*r.NormFloat64())
		out = append(out, Pair{Block: b + 1, Base: speed * base(r), Arm: speed * (1 + change) * arm(r)})
	}
	return out
}

// drift makes n blocks on a host that becomes slower by 1 % from sample to
// sample, with the arms in turn first as the layout has them.
func drift(r *rand.Rand, n int, change float64) []Pair {
	var out []Pair
	first := r.IntN(2)
	host := 100.0
	next := func(f float64) float64 {
		host *= 1.01
		return host * f * math.Exp(0.02*r.NormFloat64())
	}
	for b := range n {
		p := Pair{Block: b + 1}
		if (first+b)%2 == 0 {
			p.Base, p.Arm, p.First = next(1), 0, BaseFirst
			p.Arm = next(1 + change)
		} else {
			p.Arm, p.First = next(1+change), ArmFirst
			p.Base = next(1)
		}
		out = append(out, p)
	}
	return out
}

// cases are all noises on a host that drifts from block to block and on one
// that does not, the drift from sample to sample, and hosts and arms between.
func cases() map[string]func(r *rand.Rand, n int, change float64) []Pair {
	out := map[string]func(*rand.Rand, int, float64) []Pair{"drifting": drift}
	add := func(name string, host float64, base, arm func(*rand.Rand) float64) {
		out[name] = func(r *rand.Rand, n int, change float64) []Pair { return drawOn(r, host, n, change, base, arm) }
	}
	for name, noise := range noises {
		add(name, 0.1, noise, noise)
		add(name+", steady host", 0, noise, noise)
	}
	// Where it is hardest to say whether blocks matter: the host scatters by a
	// half of the noise, as much, and twice as much.
	for share, host := range map[string]float64{"half": 0.015, "even": 0.03, "double": 0.06} {
		add("normal, "+share+" host", host, noises["lognormal"], noises["lognormal"])
	}
	// Arms that scatter unlike, by factors of 2 and 5, as under Kara's CFQ.
	add("unlike arms, 2", 0, noises["lognormal"], func(r *rand.Rand) float64 { return math.Exp(0.06 * r.NormFloat64()) })
	add("unlike arms, 5", 0, noises["lognormal"], func(r *rand.Rand) float64 { return math.Exp(0.15 * r.NormFloat64()) })
	return out
}

// mostFalse is what a share of false claims may be at most. Arms that scatter
// unlike are beyond it with three pairs, where Welch's degrees of freedom are a
// guess: see the package comment.
func mostFalse(name string, n int) float64 {
	if strings.HasPrefix(name, "unlike") && n == 3 {
		return 0.06
	}
	return 0.055
}

// limit is what a rate may be at most if its true value is p: three standard
// errors above.
func limit(p float64, n int) float64 {
	return p + 3*math.Sqrt(p*(1-p)/float64(n))
}

// An arm against itself must not give a change more often than the level
// says, whatever the noise.
func TestSimulatedFalseClaims(t *testing.T) {
	for name, draw := range cases() {
		for _, n := range []int{3, 5, 10, 30} {
			if (n == 30 || n == 10 && strings.Contains(name, "wide")) && *drawsFlag < full {
				continue
			}
			for _, shape := range []Shape{Level, Tail} {
				t.Run(fmt.Sprintf("%s n=%d %s", name, n, map[Shape]string{Level: "level", Tail: "tail"}[shape]), func(t *testing.T) {
					t.Parallel()
					r := rand.New(rand.NewPCG(1, uint64(n)))
					draws := *drawsFlag
					claims, covered := 0, 0
					m := Metric{Shape: shape, table: table{}}
					for range draws {
						v := m.Compare(draw(r, n, 0))
						if v.Kind == Better || v.Kind == Worse {
							claims++
						}
						if v.Low <= 0 && 0 <= v.High {
							covered++
						}
					}
					rate := float64(claims) / float64(draws)
					t.Logf("%.2f %% false claims, %.2f %% covered", 100*rate, 100*float64(covered)/float64(draws))
					if most := mostFalse(name, n); rate > limit(most, draws) {
						t.Errorf("%.2f %% false claims, want %.1f %% at most", 100*rate, 100*most)
					}
					if rate == 0 && name == "normal" && (shape == Level || n >= 6) {
						t.Error("no false claim at all: the simulation tests nothing")
					}
					if c := float64(covered) / float64(draws); c < 1-limit(0.06, draws) {
						t.Errorf("interval covers nothing in %.2f %%, want 94 %% at least", 100*c)
					}
				})
			}
		}
	}
}

// Of a whole run without any change, with a dozen conditions and two metrics
// each, at most 5 % may have any claim.
func TestFalseRuns(t *testing.T) {
	const runs = 400
	r := rand.New(rand.NewPCG(2, 0))
	alarms := 0
	for range runs {
		var vs []*Verdict
		for range 12 {
			ps := draw(r, 3, 0, noises["lognormal"])
			runtime := Compare(ps, Lower)
			for i := range ps { // throughput says the same once more
				ps[i].Base, ps[i].Arm = 1/ps[i].Base, 1/ps[i].Arm
			}
			throughput := Compare(ps, Higher)
			vs = append(vs, &runtime, &throughput)
		}
		FDR(vs, 0.05)
		for _, v := range vs {
			if v.Kind == Better || v.Kind == Worse {
				alarms++
				break
			}
		}
	}
	if rate := float64(alarms) / runs; rate > limit(0.05, runs) || rate == 0 {
		t.Errorf("%.1f %% of runs without a change claim one, want 5 %% at most and some", 100*rate)
	}
}

// A change of the size of the MDE must be seen in 80 % of runs, when the noise
// is what the MDE was computed from: in pairs where the host drifts, and else as
// two samples, where that the spread is known less well than for arms known to
// be alike costs a little.
func TestMDEBySimulation(t *testing.T) {
	for _, n := range []int{3, 5, 10} {
		for _, host := range []float64{0, 1} {
			t.Run(fmt.Sprint("n=", n, " host=", host), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(3, uint64(n)))
				sd := 0.03 * math.Sqrt2 // of a log ratio: both arms are noisy
				change, slack := math.Expm1(effect(n, float64(n-1), Confidence)*sd), 0.0
				if host == 0 {
					change, slack = math.Expm1(effect(n, float64(2*n-2), 1-(1-Confidence)/twoPrice)*sd), 0.06
				}
				seen, draws := 0, *drawsFlag
				for range draws {
					if Compare(drawOn(r, host, n, change, noises["lognormal"], noises["lognormal"]), Lower).Kind == Worse {
						seen++
					}
				}
				rate, se := float64(seen)/float64(draws), math.Sqrt(0.8*0.2/float64(draws))
				t.Logf("change of %.1f %% seen in %.1f %%", 100*change, 100*rate)
				if math.Abs(rate-0.8) > 3*se+slack {
					t.Errorf("change of %.1f %% is seen in %.1f %%, want 80 %%", 100*change, 100*rate)
				}
			})
		}
	}
}

// The MDE of a verdict is that change on average, so far as the observed
// noise is right on average: E[s] = c4 sd, c4 = 0.8862 at n = 3, 0.9400 at 5
// and 0.9727 at 10 (any table of control chart constants).
func TestMDEOnAverage(t *testing.T) {
	for n, c4 := range map[int]float64{3: 0.8862, 5: 0.9400, 10: 0.9727} {
		r := rand.New(rand.NewPCG(4, uint64(n)))
		var sum float64
		// At n = 3 a standard deviation scatters by half of itself.
		draws := max(*drawsFlag, 3000)
		for range draws {
			sum += math.Log1p(Compare(drawOn(r, 1, n, 0, noises["lognormal"], noises["lognormal"]), Lower).MDE)
		}
		want := c4 * effect(n, float64(n-1), Confidence) * 0.03 * math.Sqrt2
		if got := sum / float64(draws); math.Abs(got-want)/want > 0.03 {
			t.Errorf("n = %d: MDE is %.4f on average, want %.4f", n, got, want)
		}
	}
}

// The interval covers the true change in 94 % of runs at least, and is not
// wider than it must be.
func TestCoverage(t *testing.T) {
	for _, n := range []int{3, 5, 10} {
		for _, host := range []float64{0, 0.03, 1} {
			r := rand.New(rand.NewPCG(5, uint64(n)))
			covered, draws := 0, max(*drawsFlag, 1000)
			for range draws {
				v := Compare(drawOn(r, host, n, 0.15, noises["lognormal"], noises["lognormal"]), Lower)
				if v.Low <= 0.15 && 0.15 <= v.High {
					covered++
				}
			}
			rate := float64(covered) / float64(draws)
			t.Logf("n = %d, host %v: %.2f %% covered", n, host, 100*rate)
			if rate < 1-limit(0.06, draws) || rate > 0.97+limit(0.03, draws)-0.03 {
				t.Errorf("n = %d, host %v: interval covers the change in %.1f %%, want 94 to 97 %%", n, host, 100*rate)
			}
		}
	}
}
