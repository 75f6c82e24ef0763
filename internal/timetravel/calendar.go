package timetravel

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrAsleep is the end of a guest that sleeps for ever: nothing will happen any
// more, neither in it nor outside.
var ErrAsleep = errors.New("the guest sleeps, and nothing is left that could wake it")

// Options say how a calendar begins.
type Options struct {
	// Clock is the time of day when the guest's time is 0.
	Clock time.Time
	// MessagesOnly does not offer shared memory.
	MessagesOnly bool
}

// Calendar is our end of one guest's time. All its methods must be called by
// the same goroutine.
type Calendar struct {
	file  *os.File
	fd    int
	opt   Options
	offer *shared // what is offered; nil if nothing is
	mem   *shared // what the guest took; nil for messages

	now       time.Duration
	started   bool
	waiting   bool
	want      time.Duration // when the guest wants to run, by messages
	wants     bool
	freeUntil time.Duration // what it was promised in this turn
	seq       uint32        // of our messages
	buf       [MessageSize]byte
}

// New makes the calendar of a guest that has connected. It owns conn, a
// blocking stream socket, from then on.
func New(conn *os.File, o Options) (*Calendar, error) {
	c := &Calendar{file: conn, fd: int(conn.Fd()), opt: o}
	if !o.MessagesOnly {
		var err error
		if c.offer, err = newShared(); err != nil {
			conn.Close()
			return nil, err
		}
	}
	return c, nil
}

// Close hangs up. A guest that still runs panics then.
func (c *Calendar) Close() error {
	err := c.file.Close()
	if c.offer != nil {
		err = errors.Join(err, c.offer.close())
		c.offer, c.mem = nil, nil
	}
	return err
}

// Fd is what to poll: when it is readable, call [Calendar.Handle].
func (c *Calendar) Fd() int { return c.fd }

// Shared says whether the guest uses shared memory.
func (c *Calendar) Shared() bool { return c.mem != nil }

// Waiting says whether the guest sleeps. If not it is running.
func (c *Calendar) Waiting() bool { return c.waiting }

// Now is the time. While the guest runs without shared memory it may be ahead,
// by no more than up to our next event; it says its time before it speaks to a
// device.
func (c *Calendar) Now() time.Duration {
	if c.mem != nil && !c.waiting {
		c.now = max(c.now, c.mem.now())
	}
	return c.now
}

// Handle reads one message of the guest and answers it. The error is io.EOF
// when the guest is gone.
func (c *Calendar) Handle() error {
	m, err := c.read()
	if err != nil {
		return err
	}
	return c.answer(m)
}

func (c *Calendar) read() (Message, error) {
	for n := 0; n < MessageSize; {
		k, err := unix.Read(c.fd, c.buf[n:])
		switch {
		case err == unix.EINTR:
		case err == unix.ECONNRESET || err == nil && k == 0 && n == 0:
			return Message{}, io.EOF
		case err != nil:
			return Message{}, fmt.Errorf("read from guest: %w", err)
		case k == 0:
			return Message{}, io.ErrUnexpectedEOF
		}
		n += max(k, 0)
	}
	return ParseMessage(c.buf[:])
}

func (c *Calendar) send(m Message, files ...int) error {
	var rights []byte
	if len(files) > 0 {
		rights = unix.UnixRights(files...)
	}
	b := m.Append(make([]byte, 0, MessageSize))
	for {
		err := unix.Sendmsg(c.fd, b, rights, nil, unix.MSG_NOSIGNAL)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EPIPE || err == unix.ECONNRESET:
			return io.EOF
		case err != nil:
			return fmt.Errorf("write to guest: %w", err)
		}
		return nil
	}
}

// answer does what a message of the guest asks for.
func (c *Calendar) answer(m Message) error {
	ack := Message{Op: Ack, Seq: m.Seq}
	if c.mem == nil && c.offer != nil && c.started && c.offer.taken() {
		c.mem = c.offer
	}
	switch m.Op {
	case Start:
		if c.started {
			return errors.New("guest said START twice")
		}
		c.started = true
		if c.offer != nil {
			ack.Time = guestID
			fd := int(c.offer.file.Fd())
			return c.send(ack, fd, fd) // the second is for a log that no guest writes
		}
	case Request:
		c.want, c.wants = instant(m.Time), true
	case Wait:
		c.Now()
		c.waiting = true
		if c.mem != nil {
			c.mem.running(hostID)
			c.want, c.wants = c.mem.wanted()
			return nil // no answer
		}
	case Get:
		ack.Time = uint64(c.Now())
	case Update:
		if t := instant(m.Time); t < c.now {
			return fmt.Errorf("guest's time went back from %v to %v", c.now, t)
		} else {
			c.now = t
		}
	case GetTOD:
		ack.Time = uint64(c.opt.Clock.UnixNano()) + uint64(c.Now())
	case Broadcast:
		// There is nobody else to tell.
	default:
		return fmt.Errorf("guest sent %v, which is for us to send", m.Op)
	}
	return c.send(ack)
}

// Wanted is when the sleeping guest wants to run; false for never.
func (c *Calendar) Wanted() (time.Duration, bool) {
	if c.mem != nil {
		c.want, c.wants = c.mem.wanted() // an interrupt may have changed it
	}
	return max(c.want, c.now), c.wants && c.want < Never
}

// Turn lets the guest run if it sleeps, after all events of ours that come
// first; it does nothing while the guest runs. next says when the earliest of
// our events is, and fire makes what is due happen, which may wake the guest
// (see [Calendar.Await]). At the same time an event of ours comes before the
// guest.
func (c *Calendar) Turn(next func() (time.Duration, bool), fire func(now time.Duration) error) error {
	for c.waiting {
		want, wakes := c.Wanted()
		due, any := next()
		switch {
		case any && (!wakes || due <= want):
			c.advance(max(due, c.now))
			if err := fire(c.now); err != nil {
				return err
			}
		case wakes && any:
			return c.run(want, due)
		case wakes:
			return c.run(want, Never)
		default:
			return ErrAsleep
		}
	}
	return nil
}

// advance moves the time while the guest sleeps.
func (c *Calendar) advance(t time.Duration) {
	c.now = t
	if c.mem != nil {
		c.mem.setNow(t)
	}
}

// run lets the guest run from now on, without a word to us before until.
func (c *Calendar) run(now, until time.Duration) error {
	c.advance(now)
	c.freeUntil = until
	c.waiting, c.wants = false, false
	c.seq++
	m := Message{Op: Run, Seq: c.seq, Time: uint64(now)}
	if c.mem != nil {
		c.mem.setFree(until)
		c.mem.running(guestID)
		return c.send(m) // no answer
	}
	// It forgot the last promise when it went to sleep.
	if err := c.tell(Message{Op: FreeUntil, Seq: c.seq, Time: uint64(until)}); err != nil {
		return err
	}
	c.seq++
	m.Seq = c.seq
	return c.tell(m)
}

// Limit takes back a promise: the running guest must ask before it goes past
// until. A device calls it, through whoever polls, when a request of the guest
// made an event sooner than what it was promised, and before the guest learns
// that the request has arrived.
func (c *Calendar) Limit(until time.Duration) error {
	switch {
	case c.waiting:
		return nil // run will say
	case c.mem != nil:
		if until < c.mem.free() {
			c.mem.setFree(until)
		}
		return nil
	case until >= c.freeUntil:
		return nil
	}
	c.freeUntil = until
	c.seq++
	return c.tell(Message{Op: FreeUntil, Seq: c.seq, Time: uint64(until)})
}

// tell sends a message and serves the guest until it has answered it.
func (c *Calendar) tell(m Message) error {
	if err := c.send(m); err != nil {
		return err
	}
	for {
		got, err := c.read()
		if err != nil {
			return err
		}
		if got.Op != Ack {
			if err := c.answer(got); err != nil {
				return err
			}
			continue
		}
		if got.Seq != m.Seq {
			return fmt.Errorf("guest answered message %d, it was sent %v %d", got.Seq, m.Op, m.Seq)
		}
		return nil
	}
}

// Await serves the guest's messages until fd is readable: the guest, woken by an
// interrupt, asks for the time before it answers there.
func (c *Calendar) Await(fd int) error {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(c.fd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err == unix.EINTR {
			continue
		} else if err != nil {
			return fmt.Errorf("wait for guest: %w", err)
		}
		if fds[1].Revents != 0 {
			if err := c.Handle(); err != nil {
				return err
			}
			continue // time first: what it says there may be about it
		}
		if fds[0].Revents != 0 {
			return nil
		}
	}
}
