package timetravel

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// bench is a calendar with one device: it takes kicks on a socket, answers each
// some time later with an interrupt on another, and notes what happened when.
type bench struct {
	*Calendar
	kick, irq int
	service   time.Duration
	due       []time.Duration
	log       []string
}

func (b *bench) next() (time.Duration, bool) {
	if len(b.due) == 0 {
		return 0, false
	}
	return b.due[0], true
}

func (b *bench) fire(now time.Duration) error {
	for len(b.due) > 0 && b.due[0] <= now {
		b.log = append(b.log, fmt.Sprint("done ", b.due[0], " at ", now))
		b.due = b.due[1:]
		unix.Write(b.irq, []byte{1})
		if err := b.Await(b.irq); err != nil {
			return err
		}
		unix.Read(b.irq, make([]byte, 1))
	}
	return nil
}

// serve runs until the guest hangs up.
func (b *bench) serve() error {
	fds := []unix.PollFd{{Fd: int32(b.Fd()), Events: unix.POLLIN}, {Fd: int32(b.kick), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err != nil {
			return err
		}
		if fds[0].Revents != 0 {
			if err := b.Handle(); err != nil {
				return err
			}
			if err := b.Turn(b.next, b.fire); err != nil {
				return err
			}
			continue
		}
		unix.Read(b.kick, make([]byte, 1))
		b.log = append(b.log, fmt.Sprint("kick at ", b.Now()))
		b.due = append(b.due, b.Now()+b.service)
		if err := b.Limit(b.due[0]); err != nil {
			return err
		}
		unix.Write(b.kick, []byte{1})
	}
}

func sockets(t *testing.T) (ours, theirs int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fds[0]); unix.Close(fds[1]) })
	return fds[0], fds[1]
}

var forms = []struct {
	name           string
	offer, wanting bool
}{{"shared", true, true}, {"offered in vain", true, false}, {"messages", false, false}}

// A guest that computes, asks a disk and sleeps lives through the same times in
// every form of the protocol.
func TestTurns(t *testing.T) {
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			conn, g := pair(t)
			cal, err := New(conn, Options{Clock: time.Unix(1700000000, 0), MessagesOnly: !form.offer})
			if err != nil {
				t.Fatal(err)
			}
			defer cal.Close()
			kick, guestKick := sockets(t)
			irq, guestIrq := sockets(t)
			b := &bench{Calendar: cal, kick: kick, irq: irq, service: 8 * time.Millisecond}
			ended := make(chan error, 1)
			go func() { ended <- b.serve() }()

			steps := func() error {
				if err := g.start(form.wanting); err != nil {
					return err
				}
				if tod, err := g.call(GetTOD, 0); err != nil || int64(tod) != 1700000000e9 {
					return fmt.Errorf("time of day %d, %v", tod, err)
				}
				// A sleep with nothing else to come: straight there.
				if _, err := g.sleep(time.Second, guestIrq); err != nil || g.now != time.Second {
					return fmt.Errorf("slept until %v, %v; want 1s", g.now, err)
				}
				if until := g.free(); until != Never {
					return fmt.Errorf("free until %v with no device at work", until)
				}
				// Computing within the promise needs no leave.
				before := g.count
				g.now += 5 * time.Microsecond
				if _, err := g.sleep(g.now+time.Microsecond, guestIrq); err != nil {
					return err
				}
				if form.wanting && g.count != before {
					return fmt.Errorf("%d messages for a time within the promise", g.count-before)
				}
				// A request: the promise shrinks before the answer to the kick.
				g.propagate()
				unix.Write(guestKick, []byte{1})
				if err := g.await(guestKick); err != nil {
					return err
				}
				if want := g.now + 8*time.Millisecond; g.free() != want {
					return fmt.Errorf("free until %v after a kick, want %v", g.free(), want)
				}
				// A timer before the disk's answer.
				if _, err := g.sleep(time.Second+4*time.Millisecond, guestIrq); err != nil || g.now != time.Second+4*time.Millisecond {
					return fmt.Errorf("slept until %v, %v; want 1.004s", g.now, err)
				}
				// The answer comes before the next timer.
				woken, err := g.sleep(3*time.Second, guestIrq)
				if want := time.Second + 8*time.Millisecond + 6*time.Microsecond; err != nil || !woken || g.now != want {
					return fmt.Errorf("woke at %v (interrupt %v), %v; want %v", g.now, woken, err, want)
				}
				return nil
			}
			if err := steps(); err != nil {
				t.Error(err)
			}
			if cal.Shared() != form.wanting {
				t.Errorf("Shared = %v", cal.Shared())
			}
			g.hangUp()
			if err := <-ended; !errors.Is(err, io.EOF) {
				t.Errorf("after the guest hung up: %v", err)
			}
			want := []string{"kick at 1.000006s", "done 1.008006s at 1.008006s"}
			if diff := cmp.Diff(want, b.log); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// await is what the kernel does while it waits for a device's reply.
func (g *guest) await(fd int) error {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(g.fd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err != nil {
			return err
		}
		if fds[1].Revents != 0 {
			m, err := g.read()
			if err != nil {
				return err
			}
			if _, err := g.handle(m); err != nil {
				return err
			}
			continue
		}
		_, err := unix.Read(fd, make([]byte, 1))
		return err
	}
}

func none() (time.Duration, bool)     { return 0, false }
func nothing(now time.Duration) error { return nil }

// A guest that sleeps for ever while no device is at work is told from one that
// waits.
func TestAsleep(t *testing.T) {
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			conn, g := pair(t)
			cal, err := New(conn, Options{MessagesOnly: !form.offer})
			if err != nil {
				t.Fatal(err)
			}
			defer cal.Close()
			guest := make(chan error, 1)
			go func() {
				if err := g.start(form.wanting); err != nil {
					guest <- err
					return
				}
				_, err := g.sleep(1<<63-1, -1) // S64_MAX, as time_travel_sleep
				guest <- err
			}()
			for err == nil {
				if err = cal.Handle(); err == nil {
					err = cal.Turn(none, nothing)
				}
			}
			if !errors.Is(err, ErrAsleep) {
				t.Errorf("error %v, want ErrAsleep", err)
			}
			cal.Close()
			<-guest
		})
	}
}

// What a guest must not say ends the conversation and nothing else.
func TestBadGuest(t *testing.T) {
	for _, tt := range []struct {
		name string
		send []Message
		want string
	}{
		{"run", []Message{{Op: Run}}, "guest sent RUN, which is for us to send"},
		{"start twice", []Message{{Op: Start}, {Op: Start}}, "guest said START twice"},
		{"back in time", []Message{{Op: Start}, {Op: Update, Time: 5000}, {Op: Update, Time: 4000}}, "guest's time went back from 5µs to 4µs"},
		{"unknown", []Message{{Op: 10}}, "read time-travel message: unknown operation 10"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, g := pair(t)
			cal, err := New(conn, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer cal.Close()
			for i, m := range tt.send {
				g.write(m)
				err = cal.Handle()
				if last := i == len(tt.send)-1; last != (err != nil) {
					t.Fatalf("after %v: %v", m.Op, err)
				}
			}
			if err.Error() != tt.want {
				t.Errorf("error %q, want %q", err, tt.want)
			}
		})
	}
	conn, g := pair(t)
	cal, err := New(conn, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cal.Close()
	unix.Write(g.fd, []byte{1, 0, 0})
	g.hangUp()
	if err := cal.Handle(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a message cut short: %v", err)
	}
}

func FuzzMessage(f *testing.F) {
	for _, m := range []Message{{Op: Start, Seq: 1, Time: 1<<64 - 1}, {Op: Request, Seq: 2, Time: 1e9}, {Op: Broadcast}} {
		f.Add(m.Append(nil))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ParseMessage(b)
		if err != nil {
			return
		}
		if got := m.Append(nil); !bytes.Equal(got, b) {
			t.Errorf("%x reads as %+v, which writes as %x", b, m, got)
		}
	})
}

// FuzzGuest lets a guest say anything at all.
func FuzzGuest(f *testing.F) {
	var usual []byte
	for _, m := range []Message{{Op: Start, Seq: 1}, {Op: Request, Seq: 2, Time: 1e6}, {Op: Wait, Seq: 3}, {Op: Ack, Seq: 1}, {Op: Ack, Seq: 2}, {Op: Get, Seq: 4}} {
		usual = m.Append(usual)
	}
	f.Add(usual)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 32<<10 {
			return // would not fit into the socket
		}
		conn, g := pair(t)
		cal, err := New(conn, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer cal.Close()
		unix.Write(g.fd, b)
		unix.Shutdown(g.fd, unix.SHUT_WR)
		var before time.Duration
		for err == nil {
			if err = cal.Handle(); err == nil {
				err = cal.Turn(none, nothing)
			}
			if cal.Now() < before {
				t.Fatalf("time went back from %v to %v", before, cal.Now())
			}
			before = cal.Now()
		}
	})
}
