package nbd

import "sync/atomic"

// reply is one request from its arrival until its answer has left.
type reply struct {
	Request
	s        *sender
	cookie   uint64
	buf      *buffer // payload of a Read or Write
	took     int     // bytes taken from the budget
	errno    Errno
	head     [replyLen]byte
	rest     []byte // what is still to be written
	answered atomic.Bool
}

// done is what the backend calls.
func (r *reply) done(err error) {
	if r.answered.Swap(true) {
		panic("nbd: " + r.Op.String() + " answered twice by its backend")
	}
	r.errno = errnoOf(err)
	r.s.send(r)
}

// encode lays out the bytes of the answer.
func (r *reply) encode() {
	r.rest = r.head[:]
	if r.Op == Read && r.errno == 0 {
		r.rest = r.buf.bytes[:replyLen+r.Length]
	}
	be.PutUint32(r.rest, magicReply)
	be.PutUint32(r.rest[4:], uint32(r.errno))
	be.PutUint64(r.rest[8:], r.cookie)
}
