package nbd

import (
	"errors"
	"fmt"
	"time"
)

// Op is what a request asks for.
type Op uint8

const (
	Read Op = iota
	Write
	Flush       // all writes answered before must be on stable storage
	Trim        // the content is no longer needed
	WriteZeroes // like Write of zeros, without a payload
)

// String gives the word used in messages.
func (op Op) String() string {
	switch op {
	case Read:
		return "read"
	case Write:
		return "write"
	case Flush:
		return "flush"
	case Trim:
		return "trim"
	case WriteZeroes:
		return "write-zeroes"
	}
	return fmt.Sprintf("nbd.Op(%d)", uint8(op))
}

// Request is one request that passed all checks: the range lies within the
// device and is aligned to the minimum block size, and the operation is one
// that the export offers.
type Request struct {
	Op     Op
	Offset int64 // bytes; 0 for Flush
	Length int64 // bytes; 0 for Flush
	FUA    bool  // answer a write only when it is on stable storage
	NoHole bool  // WriteZeroes: the client asks for allocated space

	// Data is the payload of a Write, or what the backend fills for a Read:
	// Length bytes, valid until done is called.
	Data []byte

	// Received is when the request came; the payload of a Write followed, and
	// took its time. The zero time where nobody noted it.
	Received time.Time

	// Sent may be set by the backend before it calls done. It is called once
	// the last byte of the reply was given to the kernel, and not at all when
	// the connection broke before that. It must not block.
	Sent func()
}

// Backend is the device behind an export.
type Backend interface {
	// Size is the size of the device in bytes; it must not change.
	Size() int64

	// Submit starts a request. The backend calls done exactly once, from any
	// goroutine, in any order, also before Submit returns. A nil error is
	// success; an [Errno] goes to the client as it is, any other error as EIO.
	// Submit is called by one goroutine at a time, in the order of arrival;
	// while it does not return no further request is read.
	Submit(r *Request, done func(error))
}

// Errno is an error number as the protocol defines them (those of Linux).
type Errno uint32

const (
	ErrPerm     Errno = 1   // write to a read-only device
	ErrIO       Errno = 5   // the device failed
	ErrNoMemory Errno = 12  // no memory for the request
	ErrInvalid  Errno = 22  // the request makes no sense
	ErrNoSpace  Errno = 28  // write beyond the end, or no space left
	ErrOverflow Errno = 75  // more than the server takes at a time
	ErrNotSup   Errno = 95  // the server does not know how
	ErrShutdown Errno = 108 // the server is ending
)

// Error names the number.
func (e Errno) Error() string {
	switch e {
	case ErrPerm:
		return "operation not permitted"
	case ErrIO:
		return "input/output error"
	case ErrNoMemory:
		return "cannot allocate memory"
	case ErrInvalid:
		return "invalid argument"
	case ErrNoSpace:
		return "no space left on device"
	case ErrOverflow:
		return "value too large"
	case ErrNotSup:
		return "operation not supported"
	case ErrShutdown:
		return "server shutting down"
	}
	return fmt.Sprintf("error %d", uint32(e))
}

// errnoOf gives the number that stands for err in a reply; 0 is success.
func errnoOf(err error) Errno {
	if err == nil {
		return 0
	}
	var e Errno
	if errors.As(err, &e) && e != 0 {
		return e
	}
	return ErrIO
}
