package vhost

import (
	"encoding/binary"
	"fmt"
)

// Requests of the front end that are understood.
const (
	getFeatures         = 1
	setFeatures         = 2
	setOwner            = 3
	resetOwner          = 4
	setMemTable         = 5
	setVringNum         = 8
	setVringAddr        = 9
	setVringBase        = 10
	getVringBase        = 11
	setVringKick        = 12
	setVringCall        = 13
	setVringErr         = 14
	getProtocolFeatures = 15
	setProtocolFeatures = 16
	getQueueNum         = 17
	setVringEnable      = 18
	setBackendReqFd     = 21
	getConfig           = 24
	setConfig           = 25
	vringKick           = 35
)

// backendVringCall is the one request of ours: look at a ring.
const backendVringCall = 4

// Flags of a header.
const (
	flagVersion   = 1
	flagReply     = 4
	flagNeedReply = 8
)

// Bits of protocol features.
const (
	protoReplyAck   = 1 << 3
	protoBackendReq = 1 << 5
	protoConfig     = 1 << 9
	protoInband     = 1 << 14
)

// Bits of device features that are the transport's.
const (
	featureIndirect = 1 << 28
	featureProtocol = 1 << 30
	featureVersion1 = 1 << 32
)

const (
	headerSize  = 12
	mostPayload = 4096
	mostFds     = 8 // regions of memory in one table
)

// header is what every message begins with, in the host's byte order.
type header struct {
	request, flags, size uint32
}

func parseHeader(b []byte) (header, error) {
	if len(b) != headerSize {
		return header{}, fmt.Errorf("read vhost-user header: %d bytes, want %d", len(b), headerSize)
	}
	h := header{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])}
	switch {
	case h.flags&3 != flagVersion:
		return header{}, fmt.Errorf("read vhost-user header: version %d, want %d", h.flags&3, flagVersion)
	case h.size > mostPayload:
		return header{}, fmt.Errorf("read vhost-user header: message of %d bytes, the most is %d", h.size, mostPayload)
	}
	return h, nil
}

func (h header) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, h.request)
	b = binary.LittleEndian.AppendUint32(b, h.flags)
	return binary.LittleEndian.AppendUint32(b, h.size)
}

// fields reads numbers off the front of a payload.
type fields struct {
	b     []byte
	short bool
}

func (f *fields) take(n int) []byte {
	if len(f.b) < n {
		f.short = true
		return make([]byte, n)
	}
	b := f.b[:n]
	f.b = f.b[n:]
	return b
}

func (f *fields) u32() uint32 { return binary.LittleEndian.Uint32(f.take(4)) }
func (f *fields) u64() uint64 { return binary.LittleEndian.Uint64(f.take(8)) }

func (f *fields) err(what string) error {
	if f.short {
		return fmt.Errorf("read vhost-user message: %s is cut short", what)
	}
	return nil
}
