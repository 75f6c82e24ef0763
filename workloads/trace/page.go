package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// PageSize is what the kernel hands out at a time.
const PageSize = 4096

// Event is one entry of a CPU's buffer.
type Event struct {
	At   uint64 // ns of the trace clock
	CPU  int
	Data []byte // from common_type on; part of the page
}

// ID is the number of its format.
func (e Event) ID() int { return int(binary.LittleEndian.Uint16(e.Data)) }

// PID is the task that it happened in.
func (e Event) PID() int { return int(int32(binary.LittleEndian.Uint32(e.Data[4:]))) }

// commonSize is the part that all events have: type, flags, preempt count, pid.
const commonSize = 8

// The words of an entry's first five bits (include/linux/ring_buffer.h).
const (
	typeData       = 28 // up to here the length in words; 0 has it in a word of its own
	typePadding    = 29
	typeTimeExtend = 30
	typeTimeStamp  = 31
)

// Bits of a page's commit field, beside its length.
const (
	lengthMask    = 1<<20 - 1
	missedEvents  = 1 << 31 // events were lost before this page
	missedCounted = 1 << 30 // and their number stands behind the data
)

// EachEvent calls f for the events of one page, in their order. missed says that
// the kernel lost some before it. A page that no kernel makes is an error, after
// the events that could be read.
func EachEvent(page []byte, cpu int, f func(Event)) (missed bool, err error) {
	const header = 16
	if len(page) < header {
		return false, errors.New("read trace page: shorter than its header")
	}
	at := binary.LittleEndian.Uint64(page)
	commit := binary.LittleEndian.Uint64(page[8:])
	missed = commit&(missedEvents|missedCounted) != 0
	length := int(commit & lengthMask)
	if length > len(page)-header {
		return missed, fmt.Errorf("read trace page: it claims %d bytes and has %d", length, len(page)-header)
	}
	data := page[header : header+length]
	for len(data) >= 4 {
		word := binary.LittleEndian.Uint32(data)
		kind, delta := word&31, uint64(word>>5)
		data = data[4:]
		var next uint32
		if kind == 0 || kind >= typePadding {
			if kind == typePadding && delta == 0 {
				return missed, nil // nothing behind it
			}
			if len(data) < 4 {
				return missed, errors.New("read trace page: an entry is cut off")
			}
			next = binary.LittleEndian.Uint32(data)
		}
		var size int
		switch kind {
		case typeTimeExtend:
			at += uint64(next)<<27 + delta
			data = data[4:]
			continue
		case typeTimeStamp:
			// The upper five bits are those of the stamp before it.
			at = at&^(1<<59-1) | uint64(next)<<27 | delta
			data = data[4:]
			continue
		case typePadding, 0:
			size = int(next) // counts its own word
			if size < 4 || size > len(data) {
				return missed, fmt.Errorf("read trace page: an entry of %d bytes where %d are left", size, len(data))
			}
		default:
			size = int(kind) * 4
			if size > len(data) {
				return missed, fmt.Errorf("read trace page: an entry of %d bytes where %d are left", size, len(data))
			}
		}
		at += delta
		body := data[:size]
		data = data[min((size+3)&^3, len(data)):]
		if kind == 0 {
			body = body[4:]
		}
		if kind != typePadding && len(body) >= commonSize {
			f(Event{At: at, CPU: cpu, Data: body})
		}
	}
	return missed, nil
}
