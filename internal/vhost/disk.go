package vhost

import (
	"errors"
	"fmt"
	"regexp"
)

// Op is what a request asks for.
type Op uint8

const (
	Read  Op = iota
	Write    // Data holds what to write
	Flush    // everything completed before is to be on the media
)

// Request is one command for a disk. The range lies within the disk, and the
// parts of Data are together as long as Length; they are the guest's memory,
// which the guest leaves alone until the request is done.
type Request struct {
	Op             Op
	Offset, Length int64 // in bytes, multiples of SectorSize; 0 for Flush
	FUA            bool  // of a Write: not done before it is on the media
	Data           [][]byte
}

// Backend is a disk's inside.
type Backend interface {
	// Submit takes a request. done must be called once, from any goroutine
	// unless the Conn is polled ([Conn.Handle]); with nil, or with why the disk
	// failed, of which the guest learns nothing but that it did.
	Submit(r *Request, done func(error))
}

// SectorSize is the unit of addresses, in bytes.
const SectorSize = 512

// Disk says what a guest is to see.
type Disk struct {
	Size       int64  // bytes, a multiple of SectorSize
	Serial     string // 1 to 20 of letters, digits, '-', '_' and '.'
	ReadOnly   bool
	WriteCache bool // volatile: the guest flushes
	// Rotation is the speed in rpm, 1 for a device that does not rotate, 0 for
	// none told. virtio-blk cannot tell it.
	Rotation int
	// QueueDepth is how many requests a guest should have under way at a time,
	// 0 for as many as the ring holds. virtio-blk cannot tell it.
	QueueDepth int
	// FUA tells the guest that single writes can be forced. Without it a guest
	// flushes instead; a forced write is honoured either way. virtio-blk has
	// none.
	FUA     bool
	Backend Backend
}

var serialForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,20}$`)

func (d Disk) validate() error {
	switch {
	case d.Size <= 0 || d.Size%SectorSize != 0:
		return fmt.Errorf("size of %d bytes: want a multiple of %d", d.Size, SectorSize)
	case !serialForm.MatchString(d.Serial):
		return fmt.Errorf("serial %q: want 1 to 20 of A-Z a-z 0-9 . _ -", d.Serial)
	case d.Rotation < 0 || d.Rotation > 0xfffe:
		return fmt.Errorf("rotation of %d rpm: want 0 to 65534", d.Rotation)
	case d.QueueDepth < 0 || d.QueueDepth > ringSize:
		return fmt.Errorf("queue depth %d: want 0 to %d", d.QueueDepth, ringSize)
	case d.Backend == nil:
		return errors.New("no backend")
	}
	return nil
}

// within checks a range of the disk.
func (d Disk) within(sector, sectors uint64) bool {
	all := uint64(d.Size) / SectorSize
	return sector <= all && sectors <= all-sector
}

const (
	// ringSize is what User Mode Linux gives its rings.
	ringSize = 256
	// mostSegments of one request fit into a ring without a table of their own.
	mostSegments = ringSize/2 - 2
)

// Device is a kind of disk as a machine's drivers know it.
type Device interface {
	features() uint64
	queues() int
	config() []byte
	// take begins the request c of a queue. The error is of a guest that does
	// not keep to the standard.
	take(q *queue, c chain) error
}

// size is how many bytes parts have together.
func size(parts [][]byte) (n int64) {
	for _, p := range parts {
		n += int64(len(p))
	}
	return n
}

// cut takes the first n bytes off parts; ok is false if there are fewer.
func cut(parts [][]byte, n int) (first, rest [][]byte, ok bool) {
	for i, p := range parts {
		if n == 0 {
			return first, parts[i:], true
		}
		k := min(n, len(p))
		first = append(first, p[:k])
		if n -= k; k < len(p) {
			return first, append([][]byte{p[k:]}, parts[i+1:]...), true
		}
	}
	return first, nil, n == 0
}

// gather copies parts into b as far as they go.
func gather(b []byte, parts [][]byte) (n int) {
	for _, p := range parts {
		n += copy(b[n:], p)
	}
	return n
}

// scatter copies b into parts as far as they go.
func scatter(parts [][]byte, b []byte) (n int) {
	for _, p := range parts {
		n += copy(p, b[n:])
	}
	return n
}
