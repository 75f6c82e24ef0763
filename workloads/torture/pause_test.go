package torture

import (
	"math"
	"slices"
	"testing"
	"time"
)

// The first blocks of the published program with its file of 8 GiB.
func TestBlocks(t *testing.T) {
	want := []int64{179184, 1786032, 447072, 1997488, 1772580, 1169622, 203276, 877401}
	offset := offsets(8 << 30)
	for i, w := range want {
		if got := offset(); got != w*4096 {
			t.Errorf("write %d at %d, want block %d", i, got, w)
		}
	}
}

// Drawn pauses are uniform from half the pause to one and a half: mean 1 and
// standard deviation 1/sqrt(12) of it.
func TestPauses(t *testing.T) {
	const n, pause = 100_000, 20 * time.Millisecond
	next := Options{Pause: pause, Jitter: true, Seed: 7}.pauses()
	var sum, squares float64
	for range n {
		x := float64(next()) / float64(pause)
		if x < 0.5 || x >= 1.5 {
			t.Fatalf("a pause of %g", x)
		}
		sum += x
		squares += x * x
	}
	mean := sum / n
	sd := math.Sqrt(squares/n - mean*mean)
	// Five standard errors: 1/sqrt(12 n) of a mean, and less of a deviation.
	if se := 1 / math.Sqrt(12*n); math.Abs(mean-1) > 5*se || math.Abs(sd-1/math.Sqrt(12)) > 5*se {
		t.Errorf("mean %g, standard deviation %g", mean, sd)
	}
}

// The arms of a block share their seed, and so their pauses; blocks differ.
// Without jitter, as in the published program, all pauses are the same.
func TestPausesOfSeed(t *testing.T) {
	draw := func(o Options) (out []time.Duration) {
		next := o.pauses()
		for range 20 {
			out = append(out, next())
		}
		return out
	}
	o := Options{Pause: 20 * time.Millisecond, Jitter: true, Seed: 1 + 1<<32}
	one := draw(o)
	if !slices.Equal(one, draw(o)) {
		t.Error("the same seed gave other pauses")
	}
	o.Seed = 1 + 2<<32
	if slices.Equal(one, draw(o)) {
		t.Error("another seed gave the same pauses")
	}
	o.Jitter = false
	if slices.ContainsFunc(draw(o), func(d time.Duration) bool { return d != o.Pause }) {
		t.Error("pauses differ without jitter")
	}
}
