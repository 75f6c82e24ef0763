package ioperf

import "spindle/workloads/crand"

// places gives the offsets that one process visits, one after the other. member
// counts from 0.
//
// The original takes random() as a fraction of RAND_MAX, times the size less one:
// a byte anywhere in the file. The file is one block longer than its size, so the
// block is always within it.
func (o Options) places(member int) func() int64 {
	seed := o.Seed
	if o.Independent {
		// Neighbouring seeds give sequences without likeness: the first 310
		// numbers are thrown away.
		seed += uint32(member) * 7919
	}
	r := crand.NewRand(seed)
	return func() int64 {
		at := int64(float64(r.Next()) / (1<<31 - 1) * float64(o.Data-1))
		if o.Aligned {
			at -= at % Block
		}
		return at
	}
}
