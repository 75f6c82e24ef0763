package timetravel

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Op is what a message asks for.
type Op uint32

// The operations of enum um_timetravel_ops.
const (
	Ack       Op = iota // answers any of the others, with the same Seq
	Start               // the guest's first
	Request             // the guest wants to run at Time; replaces what it wanted before
	Wait                // the guest sleeps until it is told to run
	Get                 // the guest asks for the time, in the answer
	Update              // the guest's time is Time now
	Run                 // the guest may run; its time is Time
	FreeUntil           // the guest need not ask for times before Time
	GetTOD              // the guest asks for the time of day at boot, in the answer
	Broadcast           // a word for all guests
	lastOp    = Broadcast
)

var opNames = [...]string{"ACK", "START", "REQUEST", "WAIT", "GET", "UPDATE", "RUN", "FREE_UNTIL", "GET_TOD", "BROADCAST"}

func (o Op) String() string {
	if o <= lastOp {
		return opNames[o]
	}
	return fmt.Sprintf("operation %d", uint32(o))
}

// MessageSize is the length of every message, in bytes.
const MessageSize = 16

// Message is struct um_timetravel_msg.
type Message struct {
	Op   Op
	Seq  uint32
	Time uint64 // ns; what it means depends on Op
}

// Append writes m in the host's byte order, which on x86-64 is little endian.
func (m Message) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(m.Op))
	b = binary.LittleEndian.AppendUint32(b, m.Seq)
	return binary.LittleEndian.AppendUint64(b, m.Time)
}

// ParseMessage reads a message.
func ParseMessage(b []byte) (Message, error) {
	if len(b) != MessageSize {
		return Message{}, fmt.Errorf("read time-travel message: %d bytes, want %d", len(b), MessageSize)
	}
	m := Message{
		Op:   Op(binary.LittleEndian.Uint32(b)),
		Seq:  binary.LittleEndian.Uint32(b[4:]),
		Time: binary.LittleEndian.Uint64(b[8:]),
	}
	if m.Op > lastOp {
		return Message{}, fmt.Errorf("read time-travel message: unknown %v", m.Op)
	}
	return m, nil
}

// Never is a time that does not come, 146 years after the start. A guest whose
// clock came near the end of its range would panic.
const Never = time.Duration(1) << 62

// instant reads a time of the guest's. What is too far away is Never.
func instant(ns uint64) time.Duration {
	if ns >= uint64(Never) {
		return Never
	}
	return time.Duration(ns)
}
