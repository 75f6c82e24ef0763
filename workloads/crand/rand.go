// Package crand is the C library's random numbers, so that programs written anew
// touch the same places as the published ones did.
//
// It promises the numbers of glibc's rand, which are those of its random. Other C
// libraries have other numbers.
package crand

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
