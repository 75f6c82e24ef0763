package latency

import "math/bits"

// The shape of the histogram in fio's t/read-to-pipe-async.c: values below 512
// are kept exactly, those above with eight significant bits, and all from 2^26 on
// are one.
const (
	platBits   = 8
	platValues = 1 << platBits
	platGroups = 19
)

// Plat is fio's histogram of latencies, there in microseconds. The zero Plat is
// empty.
type Plat struct {
	counts [platGroups * platValues]uint64
	n      uint64
	Over   uint64 // those that the caller found too long
	Min    uint64
	Max    uint64
}

// Record counts one.
func (p *Plat) Record(v uint64) {
	p.counts[platIndex(v)]++
	if p.n == 0 || v < p.Min {
		p.Min = v
	}
	p.Max = max(p.Max, v)
	p.n++
}

// N is how many were counted.
func (p *Plat) N() uint64 { return p.n }

// platIndex gives the bucket of a value: its group by the highest bit, within it
// the eight bits below that one.
func platIndex(v uint64) int {
	msb := bits.Len64(v) - 1
	if msb <= platBits {
		return int(v)
	}
	drop := msb - platBits
	i := (drop+1)<<platBits + int(v>>drop)&(platValues-1)
	return min(i, platGroups*platValues-1)
}

// platMean gives the middle of a bucket.
func platMean(i int) uint64 {
	if i < platValues<<1 {
		return uint64(i)
	}
	drop := i>>platBits - 1
	return 1<<(drop+platBits) + uint64((float64(i%platValues)+0.5)*float64(uint64(1)<<drop))
}

// Percentile gives the middle of the first bucket with which p percent are
// reached; 0 of none.
func (p *Plat) Percentile(percent float64) uint64 {
	sum := uint64(0)
	for i, n := range p.counts {
		if sum += n; n > 0 && float64(sum) >= percent/100*float64(p.n) {
			return platMean(i)
		}
	}
	return 0
}
