package torture

import (
	"math/rand/v2"
	"time"
)

// Rand is the C library's rand() of glibc, which is random() of type 3 (an
// additive feedback generator, x**31 + x**3 + 1), so that the offsets are those of
// the published program.
type Rand struct {
	state [31]uint32
	next  int // place of the oldest word, which the next number replaces
}

// NewRand seeds it as srand(seed) does. A seed of 0 counts as 1.
func NewRand(seed uint32) *Rand {
	if seed == 0 {
		seed = 1
	}
	r := &Rand{}
	// 16807*x mod 2^31-1, by Schrage's method in signed arithmetic as in
	// glibc, which matters for seeds above 2^31.
	word := int32(seed)
	r.state[0] = seed
	for i := 1; i < len(r.state); i++ {
		hi, lo := int64(word)/127773, int64(word)%127773
		word = int32(16807*lo - 2836*hi)
		if word < 0 {
			word += 1<<31 - 1
		}
		r.state[i] = uint32(word)
	}
	// Three more words are copies of the first three; then 310 numbers are
	// thrown away. In a ring of 31 words the copies are the words themselves.
	r.next = 3
	for range 310 {
		r.Next()
	}
	return r
}

// Next gives a number from 0 to 2^31-1.
func (r *Rand) Next() uint32 {
	// r[i] = r[i-31] + r[i-3]: the oldest word and the one 28 places on.
	near := r.next + 28
	if near >= 31 {
		near -= 31
	}
	r.state[r.next] += r.state[near]
	v := r.state[r.next] >> 1
	if r.next++; r.next == 31 {
		r.next = 0
	}
	return v
}

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
