package nbd

import "fmt"

// header is the fixed part of a request as it came.
type header struct {
	flags, cmd     uint16
	cookie, offset uint64
	length         uint32
}

// parseHeader takes requestLen bytes apart. An error means that the stream is
// out of step, and nothing that follows can be understood.
func parseHeader(b *[requestLen]byte) (header, error) {
	if m := be.Uint32(b[:]); m != magicRequest {
		return header{}, fmt.Errorf("read request: magic %#x where a request should start", m)
	}
	return header{
		flags:  be.Uint16(b[4:]),
		cmd:    be.Uint16(b[6:]),
		cookie: be.Uint64(b[8:]),
		offset: be.Uint64(b[16:]),
		length: be.Uint32(b[24:]),
	}, nil
}

// payload is how many bytes follow the header.
func (h header) payload() int64 {
	if h.cmd == cmdWrite {
		return int64(h.length)
	}
	return 0
}

// request checks h against a device of size bytes. A number other than 0 is
// the answer to the client; the payload must be read all the same.
func (h header) request(size int64, o Options) (Request, Errno) {
	r := Request{Offset: int64(h.offset), Length: int64(h.length), FUA: h.flags&cmdFlagFUA != 0}
	allowed := uint16(0)
	if o.FUA {
		allowed |= cmdFlagFUA // on any command, though reads and flushes ignore it
	}
	offered, writes := true, true
	switch h.cmd {
	case cmdRead:
		r.Op, writes = Read, false
	case cmdWrite:
		r.Op = Write
	case cmdFlush:
		r.Op, offered, writes = Flush, o.Flush, false
	case cmdTrim:
		r.Op, offered = Trim, o.Trim
	case cmdWriteZeroes:
		r.Op, offered = WriteZeroes, o.WriteZeroes
		r.NoHole = h.flags&cmdFlagNoHole != 0
		allowed |= cmdFlagNoHole
	default:
		return r, ErrInvalid
	}
	moves := r.Op == Read || r.Op == Write
	switch {
	case writes && o.ReadOnly:
		return r, ErrPerm
	case !offered || h.flags&^allowed != 0:
		return r, ErrInvalid
	case r.Op == Flush && (h.offset != 0 || h.length != 0):
		return r, ErrInvalid
	case r.Op == Flush:
		return r, 0
	case h.length == 0:
		return r, ErrInvalid // undefined by the protocol
	case (h.offset|uint64(h.length))%uint64(o.BlockSize.Min) != 0:
		return r, ErrInvalid
	case moves && h.length > o.BlockSize.Max:
		return r, ErrOverflow
	case h.offset > uint64(size) || uint64(h.length) > uint64(size)-h.offset:
		if writes && r.Op != Trim {
			return r, ErrNoSpace
		}
		return r, ErrInvalid
	}
	return r, 0
}
