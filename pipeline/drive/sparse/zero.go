package sparse

import "bytes"

const (
	page = 4096
	// minHole is the shortest stretch of zeros inside other data that becomes
	// a hole of its own. Shorter ones are cheaper to write than to split at.
	minHole = 4 * page
)

// zeroPage is never written to.
var zeroPage [page]byte

// isZero compares with a page of zeros that stays in the first-level cache:
// the runtime's comparison uses vector instructions, which a loop would not.
func isZero(p []byte) bool { return bytes.Equal(p, zeroPage[:len(p)]) }

// step is how much of n bytes at off lies in the same page of the file.
func step(n int, off int64) int { return min(n, page-int(off%page)) }

// zeros is how many leading bytes of p are zero, in whole pages of the file
// (the first and the last may be parts).
func zeros(p []byte, off int64) int {
	n := 0
	for n < len(p) {
		k := step(len(p)-n, off+int64(n))
		if !isZero(p[n : n+k]) {
			break
		}
		n += k
	}
	return n
}

// data is how many leading bytes of p to write as they are: up to a stretch of
// at least minHole zeros. p must not start with such a stretch.
func data(p []byte, off int64) int {
	run, n := 0, 0 // zeros at the end of p[:n]
	for n < len(p) {
		k := step(len(p)-n, off+int64(n))
		if isZero(p[n : n+k]) {
			run += k
		} else {
			run = 0
		}
		n += k
		if run >= minHole {
			return n - run
		}
	}
	return n
}
