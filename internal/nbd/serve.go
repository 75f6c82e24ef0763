package nbd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Serve serves b to the client at the other end of conn until the client ends
// the session, the connection breaks, or ctx is done; then it closes conn.
//
// It returns nil when the client said goodbye, after everything in flight was
// answered; an error that is [ErrHangUp] when the connection just ended, as it
// does when the client is killed; and the context's error when ctx was done,
// without waiting for the backend: calls of done that come later are ignored.
func Serve(ctx context.Context, conn net.Conn, b Backend, o Options) error {
	defer conn.Close()
	size := b.Size()
	o, err := o.resolve(size)
	if err != nil {
		return fmt.Errorf("serve nbd: %w", err)
	}
	interrupt := func() { conn.SetDeadline(time.Unix(1, 0)) }
	budget := newBudget(o.InFlight, max(flightBytes, int(o.BlockSize.Max)))
	stop := context.AfterFunc(ctx, func() { interrupt(); budget.close() })
	defer stop()

	err = serve(conn, b, size, o, budget, interrupt)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("serve nbd: %w", err)
	}
	return nil
}

func serve(conn net.Conn, b Backend, size int64, o Options, budget *budget, interrupt func()) error {
	// Small reads are gathered; a payload larger than this goes straight to
	// its buffer.
	in := bufio.NewReaderSize(conn, 16<<10)
	serving, err := handshake(struct {
		io.Reader
		io.Writer
	}{in, conn}, size, o)
	if err != nil || !serving {
		return err
	}
	t := transmission{in: in, backend: b, size: size, o: o, budget: budget, pool: new(pool)}
	t.out = newSender(conn, t.pool, budget, func() { interrupt(); budget.close() })
	err = t.run()
	if err == nil || errors.Is(err, ErrHangUp) {
		budget.drain()
	}
	if werr := t.out.close(); werr != nil {
		// A client that died makes both fail; reading then fails only
		// because writing did.
		if errors.Is(err, ErrHangUp) {
			return err
		}
		return werr
	}
	return err
}

// transmission is the phase after the handshake.
type transmission struct {
	in      *bufio.Reader
	out     *sender
	backend Backend
	size    int64
	o       Options
	budget  *budget
	pool    *pool
}

var errClosed = errors.New("connection closed")

// run reads requests until the client disconnects (nil) or the stream ends.
func (t *transmission) run() error {
	var raw [requestLen]byte
	for {
		if _, err := io.ReadFull(t.in, raw[:]); err != nil {
			return lost("read request", err)
		}
		h, err := parseHeader(&raw)
		if err != nil {
			return err
		}
		if h.cmd == cmdDisc {
			return nil
		}
		if err := t.one(h); err != nil {
			return err
		}
	}
}

// one reads the rest of a request and hands it on.
func (t *transmission) one(h header) error {
	r := &reply{s: t.out, cookie: h.cookie}
	var errno Errno
	r.Request, errno = h.request(t.size, t.o)
	if errno == 0 && (r.Op == Read || r.Op == Write) {
		r.took = int(r.Length)
	}
	if !t.budget.take(r.took) {
		return errClosed
	}
	if errno != 0 {
		if err := discard(t.in, h.payload()); err != nil {
			t.budget.give(r.took)
			return err
		}
		r.done(errno)
		return nil
	}
	if r.took > 0 {
		r.buf = t.pool.get(r.took)
		r.Data = r.buf.bytes[replyLen : replyLen+r.took]
	}
	r.Received = time.Now()
	if r.Op == Write {
		if _, err := io.ReadFull(t.in, r.Data); err != nil {
			t.out.release(r)
			return lost("read payload", err)
		}
	}
	t.backend.Submit(&r.Request, r.done)
	return nil
}
