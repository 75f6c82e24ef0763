package torture

import (
	"math/rand/v2"
	"time"
)

// pauses gives the pause after each fsync, one after the other.
//
// A disk's platters turn on while the program sleeps. After a pause that is
// always the same the head finds them at nearly the same angle each time, so
// every fsync of a run takes the same part of a rotation, and a change of some
// microseconds in the kernel can move all of them by a whole one: the median
// then jumps by milliseconds and shows no change of the kernel's. Pauses over a
// range wider than a rotation (8.3 ms at 7200 rpm) spread the angle, and the
// median becomes that of a disk met anywhere.
//
// What is drawn is taken from the bits of [rand.PCG] alone, whose numbers are
// promised to stay.
func (o Options) pauses() func() time.Duration {
	if !o.Jitter {
		return func() time.Duration { return o.Pause }
	}
	g := rand.NewPCG(o.Seed, 0)
	return func() time.Duration {
		share := float64(g.Uint64()>>11) / (1 << 53) // from 0 to below 1
		return time.Duration((0.5 + share) * float64(o.Pause))
	}
}
