package nbd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"syscall"
)

// ErrHangUp is a connection that ended without the client saying goodbye: the
// client was killed, or it is the other kind of client that just leaves.
var ErrHangUp = errors.New("client hung up")

const (
	// maxOption bounds the data of one option: a name of MaxName bytes and a
	// list of every kind of information fit many times.
	maxOption = 64 << 10
	// maxOptions bounds how many options a client may try.
	maxOptions = 256
)

var be = binary.BigEndian

// handshake negotiates as the server. It reports whether transmission follows;
// false without an error is a client that went away in good order.
func handshake(rw io.ReadWriter, size int64, o Options) (bool, error) {
	h := negotiator{rw: rw, size: size, o: o}
	hello := be.AppendUint64(nil, magicGreeting)
	hello = be.AppendUint64(hello, magicOption)
	hello = be.AppendUint16(hello, flagFixedNewstyle|flagNoZeroes)
	if _, err := rw.Write(hello); err != nil {
		return false, fmt.Errorf("greet client: %w", err)
	}
	flags, err := h.read(4)
	if err != nil {
		return false, err
	}
	client := be.Uint32(flags)
	if client&^(flagFixedNewstyle|flagNoZeroes) != 0 {
		return false, fmt.Errorf("negotiate: client sets unknown flags %#x", client)
	}
	h.noZeroes = client&flagNoZeroes != 0
	for range maxOptions {
		over, serve, err := h.option()
		if err != nil || over {
			return serve, err
		}
	}
	return false, fmt.Errorf("negotiate: no export chosen after %d options", maxOptions)
}

type negotiator struct {
	rw       io.ReadWriter
	size     int64
	o        Options
	noZeroes bool
}

// option answers one option. over ends the handshake.
func (h *negotiator) option() (over, serve bool, err error) {
	head, err := h.read(16)
	if err != nil {
		return false, false, err
	}
	if m := be.Uint64(head); m != magicOption {
		return false, false, fmt.Errorf("negotiate: magic %#x where an option should start", m)
	}
	opt, length := be.Uint32(head[8:]), be.Uint32(head[12:])
	if length > maxOption {
		if err := discard(h.rw, int64(length)); err != nil {
			return false, false, err
		}
		return false, false, h.reply(opt, repErrTooBig, nil)
	}
	data, err := h.read(int(length))
	if err != nil {
		return false, false, err
	}
	switch opt {
	case optExportName:
		// This option has no way to say no but to hang up.
		if !h.known(string(data)) {
			return false, false, fmt.Errorf("negotiate: no export named %.80q", data)
		}
		return true, true, h.exportName()
	case optAbort:
		// The client may be gone already; it need not wait for the answer.
		h.reply(opt, repAck, nil)
		return true, false, nil
	case optList:
		return false, false, h.list(data)
	case optInfo, optGo:
		ok, err := h.info(opt, data)
		done := ok && opt == optGo
		return done, done && err == nil, err
	}
	return false, false, h.reply(opt, repErrUnsup, nil)
}

func (h *negotiator) known(name string) bool { return name == "" || name == h.o.Name }

func (h *negotiator) exportName() error {
	out := be.AppendUint64(nil, uint64(h.size))
	out = be.AppendUint16(out, h.o.flags())
	if !h.noZeroes {
		out = append(out, make([]byte, 124)...)
	}
	_, err := h.rw.Write(out)
	return err
}

func (h *negotiator) list(data []byte) error {
	if len(data) != 0 {
		return h.reply(optList, repErrInvalid, []byte("LIST takes no data"))
	}
	server := be.AppendUint32(nil, uint32(len(h.o.Name)))
	if err := h.reply(optList, repServer, append(server, h.o.Name...)); err != nil {
		return err
	}
	return h.reply(optList, repAck, nil)
}

// info answers INFO and GO; ok says that the export was there.
func (h *negotiator) info(opt uint32, data []byte) (ok bool, err error) {
	name, wants, valid := parseInfo(data)
	if !valid {
		return false, h.reply(opt, repErrInvalid, []byte("malformed request for information"))
	}
	if !h.known(name) {
		return false, h.reply(opt, repErrUnknown, []byte("no export of that name"))
	}
	export := be.AppendUint16(nil, infoExport)
	export = be.AppendUint64(export, uint64(h.size))
	export = be.AppendUint16(export, h.o.flags())
	// Sent whether asked for or not, as the protocol allows: a client that
	// does not know it ignores it.
	sizes := be.AppendUint16(nil, infoBlockSize)
	for _, v := range []uint32{h.o.BlockSize.Min, h.o.BlockSize.Preferred, h.o.BlockSize.Max} {
		sizes = be.AppendUint32(sizes, v)
	}
	replies := [][]byte{export, sizes}
	for _, want := range wants {
		if want == infoName {
			replies = append(replies, append(be.AppendUint16(nil, infoName), h.o.Name...))
			break
		}
	}
	for _, r := range replies {
		if err := h.reply(opt, repInfo, r); err != nil {
			return false, err
		}
	}
	return true, h.reply(opt, repAck, nil)
}

// parseInfo takes the data of INFO and GO apart: a name, and the kinds of
// information that are wanted.
func parseInfo(data []byte) (name string, wants []uint16, ok bool) {
	if len(data) < 6 {
		return "", nil, false
	}
	n := be.Uint32(data)
	if n > MaxName || int(n) > len(data)-6 {
		return "", nil, false
	}
	name, data = string(data[4:4+n]), data[4+n:]
	if len(data) != 2+2*int(be.Uint16(data)) {
		return "", nil, false
	}
	for data = data[2:]; len(data) > 0; data = data[2:] {
		wants = append(wants, be.Uint16(data))
	}
	return name, wants, true
}

func (h *negotiator) reply(opt, kind uint32, data []byte) error {
	out := be.AppendUint64(nil, magicReplyOpt)
	out = be.AppendUint32(out, opt)
	out = be.AppendUint32(out, kind)
	out = be.AppendUint32(out, uint32(len(data)))
	if _, err := h.rw.Write(append(out, data...)); err != nil {
		return fmt.Errorf("answer option %d: %w", opt, err)
	}
	return nil
}

func (h *negotiator) read(n int) ([]byte, error) {
	buf := make([]byte, n)
	if _, err := io.ReadFull(h.rw, buf); err != nil {
		return nil, lost("negotiate", err)
	}
	return buf, nil
}

// discard reads n bytes that nobody wants.
func discard(r io.Reader, n int64) error {
	if _, err := io.CopyN(io.Discard, r, n); err != nil {
		return lost("skip payload", err)
	}
	return nil
}

// lost turns the end of the stream into ErrHangUp. A client that is killed with
// answers unread resets the connection.
func lost(doing string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		err = ErrHangUp
	}
	return fmt.Errorf("%s: %w", doing, err)
}
