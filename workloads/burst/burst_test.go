package burst

import (
	"math"
	"math/rand/v2"
	"testing"
)

// storms is a series of a second a sample: bursts of that length and height every
// so many seconds, over a base with noise.
func storms(seconds int, period, length, jitter, base, height, noise float64) []float64 {
	g := rand.New(rand.NewPCG(1, 1))
	out := make([]float64, seconds)
	for i := range out {
		out[i] = base + noise*g.NormFloat64()
	}
	for at := period / 2; at < float64(seconds); at += period * (1 + jitter*(2*g.Float64()-1)) {
		for i := int(at); i < min(seconds, int(at+length)); i++ {
			out[i] = base + height + noise*g.NormFloat64()
		}
	}
	return out
}

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		name     string
		series   []float64
		bursts   int
		periodic bool
	}{
		// The shape of mail 004's ext4: some 216 w/s, and 15690 about every 30 s.
		{"a checkpoint each 30 s", storms(600, 30, 4, 0, 216, 15470, 10), 20, true},
		{"with jitter", storms(600, 30, 4, 0.2, 216, 15470, 10), 20, true},
		{"every 7 s", storms(70, 7, 1, 0, 0, 100, 1), 10, true},
		{"at rest", storms(600, 1e9, 0, 0, 216, 0, 10), 0, false},
		{"two", storms(60, 30, 4, 0, 216, 15470, 10), 2, false},
		{"wildly apart", storms(2000, 60, 4, 0.9, 10, 1000, 1), 0, false},
		{"nothing", make([]float64, 100), 0, false},
		{"no series", nil, 0, false},
	} {
		f := Find(tt.series, 1)
		if f.Periodic() != tt.periodic {
			t.Errorf("%s: %+v", tt.name, f)
		}
		if tt.bursts > 0 && (f.Bursts < tt.bursts-2 || f.Bursts > tt.bursts+2) {
			t.Errorf("%s: %d bursts, want about %d", tt.name, f.Bursts, tt.bursts)
		}
	}
	f := Find(storms(600, 30, 4, 0, 216, 15470, 10), 1)
	if math.Abs(f.Period-30) > 1 || math.Abs(f.Amplitude-15470) > 50 || math.Abs(f.Base-216) > 5 || math.Abs(f.Seconds-4) > 1e-9 || f.Spread > 0.05 {
		t.Errorf("%+v", f)
	}
	// A storm that pauses for a second is one storm.
	s := storms(600, 30, 6, 0, 216, 15470, 10)
	for i := 17; i < len(s); i += 30 {
		s[i] = 216
	}
	if f := Find(s, 1); f.Bursts != 20 || math.Abs(f.Period-30) > 1 {
		t.Errorf("with pauses: %+v", f)
	}
}

// The six samples of the mail: one storm in five seconds each, no period.
func TestMail(t *testing.T) {
	f := Find([]float64{219.2, 216.2, 2750.6, 15689.8, 216.2, 218.2}, 5)
	if f.Bursts != 1 || f.Period != 0 || f.Highest != 15689.8 || f.Periodic() {
		t.Errorf("%+v", f)
	}
}
