// Package disk says how long a rotating disk takes over each request.
//
// A [Disk] is a [timing.Model] and nothing else: requests go in with the time of
// their arrival, completions come out with theirs. It has no clock, no goroutine
// and no data, so the same disk runs in real time behind NBD, in virtual time,
// and in a test that simulates hours in a second.
//
// It models: a seek curve of two pieces for reads and writes; rotation as one
// continuous angle; tracks, heads and zones with fewer sectors further in; skew
// between tracks; a volatile write-back cache with destaging; read-ahead into
// segments; command queueing by shortest positioning time with an age limit;
// flush, forced unit access, trim. It promises that the same profile, options
// and arrivals give the same completions.
//
// It does not model: bad sectors and retries, thermal recalibration, servo
// details, reading a track from the middle (zero-latency access), or power
// states.
//
// Sources: Ruemmler and Wilkes, An introduction to disk drive modeling, IEEE
// Computer 27(3), 1994; the data sheets named in the profiles.
package disk
