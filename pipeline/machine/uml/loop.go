package uml

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"spindle/internal/timetravel"
	"spindle/internal/vhost"
)

// loop is the one goroutine that serves the guest: it answers about time, gives
// requests to the drives, and lets what is due happen while the guest sleeps.
// As either the guest runs or the loop does, nothing here needs a lock, and
// nothing depends on which of them is fast.
type loop struct {
	links    *links
	stall    time.Duration
	limit    time.Duration
	clock    time.Time
	messages bool
	done     func() bool // nothing more is wanted of the guest

	pid    int // of the guest
	listen int // for the guest's time
	pipe   [2]int
	cal    *timetravel.Calendar // nil until the guest connects
	shared bool
	turns  int64
	spins  int
	guard  guard
	seat   seat
}

// Ends that the loop finds.
var (
	errLimit  = errors.New("virtual time ran out")
	errDone   = errors.New("the guest has given its result")
	errHungUp = fmt.Errorf("the guest hung up, and was still there %v later", hungUp)
	errStall  = errors.New("the guest's kernel computes, and its clock stands still")
)

// open makes what the guest connects to.
func (l *loop) open() (err error) {
	l.pipe = [2]int{-1, -1}
	if err := unix.Pipe2(l.pipe[:], unix.O_CLOEXEC); err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	l.listen, err = listen(l.links.dir, timeSocket)
	return err
}

func (l *loop) close() error {
	if l.listen > 0 {
		unix.Close(l.listen)
	}
	for _, fd := range l.pipe {
		if fd > 0 {
			unix.Close(fd)
		}
	}
	if l.cal != nil {
		return l.cal.Close()
	}
	return nil
}

// wake ends serve, when the guest's process is gone.
func (l *loop) wake() { unix.Write(l.pipe[1], []byte{1}) }

// now is the guest's time.
func (l *loop) now() time.Duration {
	if l.cal == nil {
		return 0
	}
	return l.cal.Now()
}

// serve runs until the guest hangs up, which is no error, or must be ended.
func (l *loop) serve() error {
	// A thread of its own: the guest waits for every answer.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	vhost.GuardMemory()
	l.seat.take(l.pid)
	defer l.seat.leave()
	err := l.poll()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (l *loop) poll() error {
	for {
		fds := l.watched()
		n, err := unix.Poll(fds, int(l.guard.patience()/time.Millisecond))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return fmt.Errorf("wait for guest: %w", err)
		case n == 0:
			if err := l.guard.look(l); err != nil {
				return err
			}
			continue
		}
		l.guard.spoke()
		l.seat.look()
		if err := l.handle(fds); err != nil {
			return err
		}
		if l.cal == nil {
			continue
		}
		if err := l.cal.Turn(l.next, l.fire); err != nil {
			return err
		}
		if l.done() {
			return errDone
		}
		if l.cal.Now() >= l.limit {
			return errLimit
		}
	}
}

// next is the earliest event, with the end of the guest's time as the last: up
// to the next event a guest runs through its time by itself. A guest that would
// sleep for ever is not put off to that.
func (l *loop) next() (time.Duration, bool) {
	due, ok := l.links.next()
	if _, wakes := l.cal.Wanted(); !ok && wakes {
		return l.limit, true
	}
	return min(due, l.limit), ok
}

// watched is what the guest may speak on: first the pipe, then the guest's
// time, then a device each.
func (l *loop) watched() []unix.PollFd {
	fds := make([]unix.PollFd, 0, 2+len(l.links.list))
	add := func(fd int) { fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}) }
	add(l.pipe[0])
	if l.cal != nil {
		add(l.cal.Fd())
	} else {
		add(l.listen)
	}
	for _, k := range l.links.list {
		if k.conn != nil {
			add(k.conn.Fd())
		} else {
			add(k.listen)
		}
	}
	return fds
}

// handle serves what is there. The guest says one thing and waits, so that
// there is rarely more.
func (l *loop) handle(fds []unix.PollFd) error {
	if fds[1].Revents != 0 {
		if l.cal != nil {
			if err := l.cal.Handle(); err != nil {
				return err
			}
		} else if err := l.meet(); err != nil {
			return err
		}
	}
	for i, k := range l.links.list {
		if fds[2+i].Revents == 0 {
			continue
		}
		if k.conn != nil {
			if err := k.conn.Handle(); err != nil {
				return l.blame(k, err)
			}
			continue
		}
		file, err := accept(k.listen)
		if err != nil {
			return err
		}
		k.conn = vhost.NewConn(file, k.device)
		k.conn.BeforeAck = func() error { return l.limitGuest(k) }
	}
	if fds[0].Revents != 0 && fds[1].Revents == 0 {
		return io.EOF
	}
	return nil
}

func (l *loop) blame(k *link, err error) error {
	if errors.Is(err, io.EOF) {
		return err
	}
	return fmt.Errorf("drive at %s: %w", k.name, err)
}

// meet takes the guest's connection for its time.
func (l *loop) meet() error {
	file, err := accept(l.listen)
	if err != nil {
		return err
	}
	l.cal, err = timetravel.New(file, timetravel.Options{Clock: l.clock, MessagesOnly: l.messages})
	return err
}

// limitGuest keeps the running guest from passing what its request made due.
func (l *loop) limitGuest(k *link) error {
	if k.conn.News() {
		k.told.add(l.now()+untimed, func() {})
	}
	if due, ok := l.links.next(); ok {
		return l.cal.Limit(due)
	}
	return nil
}

// fire lets happen what is due, and interrupts the guest where something was
// done.
func (l *loop) fire(now time.Duration) error {
	if now >= l.limit {
		return errLimit
	}
	l.turns++
	l.shared = l.cal.Shared()
	for _, k := range l.links.list {
		if due, ok := k.next(); !ok || due > now {
			continue
		}
		k.told.fire(now)
		k.events.fire(now)
		if k.conn == nil {
			continue
		}
		if err := k.conn.Call(l.cal.Await); err != nil {
			return l.blame(k, err)
		}
	}
	return nil
}
