// Package timing says what a model of a drive takes and gives, whatever kind of
// drive it is.
//
// A model knows nothing of clocks, goroutines and data. That makes it the same
// in real time, where a thread sleeps until Next, in virtual time, where Next
// is an entry of the calendar, and in tests; and it lets an array be a model
// made of models.
package timing

import "time"

// SectorSize is the unit of addresses, in bytes.
const SectorSize = 512

// Op is what a request asks for.
type Op uint8

const (
	Read  Op = iota
	Write    // with or without a payload: zeros take as long
	Flush    // everything completed before is to be on the media
	Trim     // the content is no longer needed
)

// Request is one command. LBA and Sectors count in SectorSize and are 0 for
// Flush.
type Request struct {
	ID      uint64 // the caller's; comes back in the Completion
	Op      Op
	LBA     int64
	Sectors int64
	FUA     bool // of a Write: not complete before it is on the media
}

// Completion says when a request was done.
type Completion struct {
	ID    uint64
	Start time.Duration // when the drive took it up: seeking, transferring, or waiting for its cache
	At    time.Duration // when it was done
}

// Model says when requests complete. Times are durations since it started;
// no call may give an earlier time than a call before.
type Model interface {
	// Arrive takes a request at the time now.
	Arrive(now time.Duration, r Request)
	// Next is the earliest time at which something may happen; until then
	// nothing completes unless something arrives. ok is false when nothing
	// will happen by itself.
	Next() (due time.Duration, ok bool)
	// Advance moves the model to the time now and gives what completed since
	// the last call, in order of time.
	Advance(now time.Duration) []Completion
}
