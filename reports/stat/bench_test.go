package stat

import (
	"math/rand/v2"
	"testing"
)

func BenchmarkCompare(b *testing.B) {
	ps := draw(rand.New(rand.NewPCG(1, 1)), 3, 0, noises["lognormal"])
	for b.Loop() {
		Compare(ps, Lower)
	}
}
