package vhost

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// Conn is a device on a connection. Its methods must be called by one
// goroutine at a time.
type Conn struct {
	file *os.File
	fd   int
	dev  Device

	// BeforeAck, if set, is called when a notification of the guest was served
	// and before the guest learns that.
	BeforeAck func() error

	features, protocol uint64
	mem                *memory
	old                []*memory // replaced ones, which requests under way may still use
	queues             []*queue
	space              []byte // the device's configuration, as the guest has changed it
	back               int    // the channel for requests of ours, or -1
}

// NewConn serves a device on a connection that a machine has opened. It owns
// conn, a blocking stream socket, from then on.
func NewConn(conn *os.File, dev Device) *Conn {
	c := &Conn{file: conn, fd: int(conn.Fd()), dev: dev, back: -1, space: dev.config()}
	for i := range dev.queues() {
		c.queues = append(c.queues, newQueue(i))
	}
	return c
}

// Fd is what to poll: when it is readable, call [Conn.Handle].
func (c *Conn) Fd() int { return c.fd }

// Close hangs up. All requests that the backend took must be done.
func (c *Conn) Close() error {
	for _, q := range c.queues {
		q.stop()
		closeFd(&q.kick)
		closeFd(&q.call)
	}
	closeFd(&c.back)
	c.mem.close()
	for _, m := range c.old {
		m.close()
	}
	c.mem, c.old = nil, nil
	return c.file.Close()
}

func closeFd(fd *int) {
	if *fd >= 0 {
		unix.Close(*fd)
		*fd = -1
	}
}

// Handle reads one message and does what it says; requests that it announces
// go to the backend before it returns. The error is io.EOF when the machine
// hung up, and else of a machine that does not keep to the protocol.
func (c *Conn) Handle() (err error) {
	defer guard(&err)
	h, payload, files, err := c.read()
	if err != nil {
		return err
	}
	reply, err := c.obey(h.request, payload, files)
	if err != nil {
		return fmt.Errorf("vhost-user request %d: %w", h.request, err)
	}
	switch {
	case reply != nil:
	case h.flags&flagNeedReply != 0 && c.protocol&protoReplyAck != 0:
		reply = make([]byte, 8) // 0: done
	default:
		return nil
	}
	return send(c.fd, header{h.request, flagVersion | flagReply, uint32(len(reply))}, reply)
}

// guard turns a fault in memory that the machine took away into an error. Such
// a fault ends the process otherwise.
func guard(err *error) {
	if p := recover(); p != nil {
		fault, ok := p.(interface {
			error
			Addr() uintptr
		})
		if !ok {
			panic(p)
		}
		*err = fmt.Errorf("the machine's memory is gone: %w", fault)
	}
}

// GuardMemory makes the calling goroutine survive memory that a machine takes
// away: its faults become errors of Handle. It must be called once by a
// goroutine that polls.
func GuardMemory() { debug.SetPanicOnFault(true) }

// read takes one message off the socket, with the files that came with it.
func (c *Conn) read() (h header, payload []byte, files []int, err error) {
	defer func() {
		if err != nil {
			closeAll(files)
		}
	}()
	var b [headerSize]byte
	oob := make([]byte, unix.CmsgSpace(4*mostFds))
	for n := 0; n < headerSize; {
		k, ko, flags, _, err := unix.Recvmsg(c.fd, b[n:], oob, unix.MSG_CMSG_CLOEXEC)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.ECONNRESET || err == nil && k == 0 && n == 0:
			return h, nil, files, io.EOF
		case err != nil:
			return h, nil, files, fmt.Errorf("read from machine: %w", err)
		case k == 0:
			return h, nil, files, io.ErrUnexpectedEOF
		}
		got, err := rights(oob[:ko])
		files = append(files, got...)
		if err != nil {
			return h, nil, files, err
		}
		if flags&unix.MSG_CTRUNC != 0 {
			return h, nil, files, fmt.Errorf("read from machine: more than %d files in a message", mostFds)
		}
		n += k
	}
	if h, err = parseHeader(b[:]); err != nil {
		return h, nil, files, err
	}
	payload = make([]byte, h.size)
	for n := 0; n < len(payload); {
		k, err := unix.Read(c.fd, payload[n:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return h, nil, files, fmt.Errorf("read from machine: %w", err)
		case k == 0:
			return h, nil, files, io.ErrUnexpectedEOF
		}
		n += k
	}
	return h, payload, files, nil
}

func rights(oob []byte) (files []int, err error) {
	if len(oob) == 0 {
		return nil, nil
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("read from machine: %w", err)
	}
	for i := range msgs {
		if fds, err := unix.ParseUnixRights(&msgs[i]); err == nil {
			files = append(files, fds...)
		}
	}
	return files, nil
}

func send(fd int, h header, payload []byte) error {
	b := append(h.append(make([]byte, 0, headerSize+len(payload))), payload...)
	for len(b) > 0 {
		n, err := unix.SendmsgN(fd, b, nil, nil, unix.MSG_NOSIGNAL)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EPIPE || err == unix.ECONNRESET:
			return io.EOF
		case err != nil:
			return fmt.Errorf("write to machine: %w", err)
		}
		b = b[n:]
	}
	return nil
}

// obey does what a message says. It owns files. A reply of nil means that there
// is nothing to say.
func (c *Conn) obey(request uint32, payload []byte, files []int) (reply []byte, err error) {
	defer func() { closeAll(files) }()
	f := fields{b: payload}
	number := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	switch request {
	case getFeatures:
		return number(c.offered()), nil
	case setFeatures:
		c.features = f.u64()
		if extra := c.features &^ c.offered(); extra != 0 {
			return nil, fmt.Errorf("machine takes features %#x that were not offered", extra)
		}
		return nil, f.err("features")
	case getProtocolFeatures:
		return number(protoReplyAck | protoBackendReq | protoConfig | protoInband), nil
	case setProtocolFeatures:
		c.protocol = f.u64()
		return nil, f.err("features")
	case setOwner, resetOwner, setVringErr:
		return nil, nil
	case getQueueNum:
		return number(uint64(len(c.queues))), nil
	case setMemTable:
		m, err := table(payload, files)
		files = nil
		if err != nil {
			return nil, err
		}
		if c.mem != nil {
			c.old = append(c.old, c.mem)
		}
		c.mem = m
		return nil, nil
	case setBackendReqFd:
		if len(files) != 1 {
			return nil, fmt.Errorf("%d files for the back-end's channel", len(files))
		}
		closeFd(&c.back)
		c.back, files = files[0], nil
		return nil, nil
	case getConfig:
		return c.readConfig(f)
	case setConfig:
		return nil, c.writeConfig(f)
	}
	return c.obeyVring(request, f, &files)
}

// obeyVring does what a message about one ring says.
func (c *Conn) obeyVring(request uint32, f fields, files *[]int) (reply []byte, err error) {
	index := f.u32()
	noFile := false
	if request == setVringKick || request == setVringCall {
		noFile = index&0x100 != 0
		index &= 0xff
	}
	if int64(index) >= int64(len(c.queues)) {
		return nil, fmt.Errorf("ring %d of %d", index, len(c.queues))
	}
	q := c.queues[index]
	switch request {
	case setVringNum:
		n := f.u32()
		if n == 0 || n > mostRing || n&(n-1) != 0 {
			return nil, fmt.Errorf("ring of %d entries", n)
		}
		q.stop()
		q.num = n
	case setVringBase:
		q.last = uint16(f.u32())
	case setVringAddr:
		f.u32() // flags: logging, which is not offered
		desc, used, avail := f.u64(), f.u64(), f.u64()
		if err := f.err("ring addresses"); err != nil {
			return nil, err
		}
		if err := q.place(c.mem, desc, used, avail); err != nil {
			return nil, err
		}
		q.enabled = c.features&featureProtocol == 0 // else it is told
	case getVringBase:
		q.stop()
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, index), uint32(q.last)), nil
	case setVringKick, setVringCall:
		slot := &q.kick
		if request == setVringCall {
			slot = &q.call
		}
		if noFile != (len(*files) == 0) || len(*files) > 1 {
			return nil, fmt.Errorf("%d files for ring %d", len(*files), index)
		}
		q.mu.Lock()
		closeFd(slot)
		if !noFile {
			*slot, *files = (*files)[0], nil
		}
		q.mu.Unlock()
	case setVringEnable:
		q.enabled = f.u32() == 1
	case vringKick:
		if err := f.err("ring number"); err != nil {
			return nil, err
		}
		if err := c.drain(q); err != nil {
			return nil, err
		}
		if c.BeforeAck != nil {
			return nil, c.BeforeAck()
		}
	default:
		return nil, errors.New("unknown")
	}
	return nil, f.err("ring state")
}

func (c *Conn) offered() uint64 {
	return c.dev.features() | featureIndirect | featureProtocol | featureVersion1
}

// drain gives all that is in a ring to the device.
func (c *Conn) drain(q *queue) error {
	for {
		chain, ok, err := q.pop()
		if !ok {
			return err
		}
		if err := c.dev.take(q, chain); err != nil {
			return fmt.Errorf("queue %d: %w", q.index, err)
		}
	}
}

func (c *Conn) readConfig(f fields) ([]byte, error) {
	offset, n, flags := f.u32(), f.u32(), f.u32()
	if err := f.err("configuration"); err != nil {
		return nil, err
	}
	if offset > 256 || n > 256 || offset+n > 256 {
		return nil, fmt.Errorf("%d bytes at %d of the configuration", n, offset)
	}
	out := binary.LittleEndian.AppendUint32(nil, offset)
	out = binary.LittleEndian.AppendUint32(out, n)
	out = binary.LittleEndian.AppendUint32(out, flags)
	// What a later standard has behind ours reads as zero.
	b := make([]byte, n)
	if int(offset) < len(c.space) {
		copy(b, c.space[offset:])
	}
	return append(out, b...), nil
}

// writeConfig takes what a guest writes; of our devices only virtio-scsi has
// fields for that, sizes that Linux sets to their defaults.
func (c *Conn) writeConfig(f fields) error {
	offset, n, _ := f.u32(), f.u32(), f.u32()
	if err := f.err("configuration"); err != nil {
		return err
	}
	if int64(offset)+int64(n) > int64(len(c.space)) || int(n) != len(f.b) {
		return fmt.Errorf("writes %d bytes at %d of the configuration", n, offset)
	}
	copy(c.space[offset:], f.b)
	return nil
}

// News says whether there is something that Call would tell.
func (c *Conn) News() bool {
	for _, q := range c.queues {
		q.mu.Lock()
		news := q.pending
		q.mu.Unlock()
		if news {
			return true
		}
	}
	return false
}

// Call tells the guest, within the protocol, of every ring with news, and waits
// for its answers: await returns when the file given is readable. It does
// nothing when there is no news.
func (c *Conn) Call(await func(fd int) error) error {
	for _, q := range c.queues {
		q.mu.Lock()
		news := q.pending
		q.pending = false
		q.mu.Unlock()
		if !news {
			continue
		}
		if c.back < 0 {
			return errors.New("tell guest of completions: it has given no way to")
		}
		state := binary.LittleEndian.AppendUint64(nil, uint64(q.index)) // and num, which is 0
		if err := send(c.back, header{backendVringCall, flagVersion | flagNeedReply, 8}, state); err != nil {
			return err
		}
		if err := await(c.back); err != nil {
			return err
		}
		if err := c.called(); err != nil {
			return fmt.Errorf("tell guest of completions: %w", err)
		}
	}
	return nil
}

// called reads the answer to a call.
func (c *Conn) called() error {
	var b [headerSize + 8]byte
	for n := 0; n < len(b); {
		k, err := unix.Read(c.back, b[n:])
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
			continue
		case err != nil:
			return err
		case k == 0:
			return io.EOF
		}
		n += k
	}
	h, err := parseHeader(b[:headerSize])
	switch {
	case err != nil:
		return err
	case h.request != backendVringCall || h.size != 8:
		return fmt.Errorf("answer to request %d of %d bytes", h.request, h.size)
	}
	if code := binary.LittleEndian.Uint64(b[headerSize:]); code != 0 {
		return fmt.Errorf("guest answered %d", code)
	}
	return nil
}
