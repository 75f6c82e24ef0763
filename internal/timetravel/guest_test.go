package timetravel

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guest is the other end, written after arch/um/kernel/time.c: what a kernel
// does with its socket, without the kernel.
type guest struct {
	fd    int
	mem   []byte // nil: messages
	now   time.Duration
	until time.Duration // promised
	seq   uint32
	count int // messages sent and received
}

func pair(t testing.TB) (ours *os.File, g *guest) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	g = &guest{fd: fds[1]}
	t.Cleanup(g.hangUp)
	return os.NewFile(uintptr(fds[0]), "calendar"), g
}

func (g *guest) hangUp() {
	if g.fd >= 0 {
		unix.Close(g.fd)
		g.fd = -1
	}
}

func (g *guest) write(m Message) error {
	g.count++
	_, err := unix.Write(g.fd, m.Append(nil))
	return err
}

func (g *guest) read() (Message, error) {
	b := make([]byte, MessageSize)
	n, err := unix.Read(g.fd, b)
	if err != nil {
		return Message{}, err
	}
	g.count++
	return ParseMessage(b[:n])
}

// start connects, and takes the shared memory if it is offered and wanted.
func (g *guest) start(shared bool) error {
	if err := g.write(Message{Op: Start, Seq: 1, Time: 1<<64 - 1}); err != nil {
		return err
	}
	b, oob := make([]byte, MessageSize), make([]byte, unix.CmsgSpace(8))
	n, k, _, _, err := unix.Recvmsg(g.fd, b, oob, 0)
	if err != nil {
		return err
	}
	m, err := ParseMessage(b[:n])
	if err != nil || m.Op != Ack || m.Seq != 1 {
		return fmt.Errorf("START was answered by %v %d, %v", m.Op, m.Seq, err)
	}
	if k == 0 {
		return nil
	}
	cs, err := unix.ParseSocketControlMessage(oob[:k])
	if err != nil {
		return err
	}
	fds, err := unix.ParseUnixRights(&cs[0])
	if err != nil || len(fds) != 2 {
		return fmt.Errorf("got descriptors %v, %v", fds, err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	if !shared {
		return nil
	}
	if g.mem, err = unix.Mmap(fds[0], 0, 4096+2*128, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return err
	}
	if v := *g.u32(0); v != 2 || *g.u32(4) < 4096+2*128 {
		return fmt.Errorf("shared memory has version %d and length %d", v, *g.u32(4))
	}
	if id := m.Time & 0xffff; id != 1 || *g.u32(24)&0xffff != 1 {
		return fmt.Errorf("guest is %d, and %d runs", id, *g.u32(24)&0xffff)
	}
	*g.u32(4096 + 128) |= 1
	return nil
}

func (g *guest) u32(off int) *uint32 { return (*uint32)(unsafe.Pointer(&g.mem[off])) }
func (g *guest) u64(off int) *uint64 { return (*uint64)(unsafe.Pointer(&g.mem[off])) }

// call sends a message, does what comes meanwhile, and gives the answer's time.
func (g *guest) call(op Op, t time.Duration) (time.Duration, error) {
	g.seq++
	seq := g.seq
	if err := g.write(Message{op, seq, uint64(t)}); err != nil {
		return 0, err
	}
	for {
		m, err := g.read()
		if err != nil {
			return 0, err
		}
		if m.Op == Ack {
			if m.Seq != seq {
				return 0, fmt.Errorf("%v %d was answered by %d", op, seq, m.Seq)
			}
			return time.Duration(m.Time), nil
		}
		if _, err := g.handle(m); err != nil {
			return 0, err
		}
	}
}

// handle does what the calendar says, and reports whether that is RUN.
func (g *guest) handle(m Message) (run bool, err error) {
	switch m.Op {
	case Run:
		if t := time.Duration(m.Time); t < g.now {
			return false, fmt.Errorf("time goes backwards: %v to %v", g.now, t)
		}
		g.now = time.Duration(m.Time)
		if g.mem != nil {
			*g.u32(4096 + 128 + 4) &^= 1
			return true, nil
		}
		run = true
	case FreeUntil:
		g.until = time.Duration(m.Time)
	default:
		return false, fmt.Errorf("calendar sent %v", m.Op)
	}
	return run, g.write(Message{Op: Ack, Seq: m.Seq})
}

func (g *guest) free() time.Duration {
	if g.mem != nil {
		return time.Duration(atomic.LoadUint64(g.u64(8)))
	}
	return g.until
}

// request asks to run at t, which while it sleeps may be sooner than before.
func (g *guest) request(t time.Duration) error {
	if g.mem == nil {
		_, err := g.call(Request, t)
		return err
	}
	*g.u32(4096 + 128 + 4) |= 1
	*g.u64(4096 + 128 + 8) = uint64(t)
	return nil
}

// sleep goes to time t as the kernel does: by itself within its promise, else
// by leave of the calendar. An interrupt on irq, if that is no pipe of -1, ends
// it sooner. It reports whether one did.
func (g *guest) sleep(t time.Duration, irq int) (interrupted bool, err error) {
	if t < g.free() {
		g.now = t
		g.propagate()
		return false, nil
	}
	g.propagate()
	if err := g.request(t); err != nil {
		return false, err
	}
	g.until = 0
	if g.mem == nil {
		if _, err := g.call(Wait, 0); err != nil {
			return false, err
		}
	} else if err := g.write(Message{Op: Wait}); err != nil {
		return false, err
	}
	for {
		fds := []unix.PollFd{{Fd: int32(g.fd), Events: unix.POLLIN}, {Fd: int32(irq), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil {
			return false, err
		}
		if fds[1].Revents&unix.POLLIN != 0 {
			if _, err := unix.Read(irq, make([]byte, 1)); err != nil {
				return false, err
			}
			if err := g.interrupt(irq); err != nil {
				return false, err
			}
			interrupted = true
			continue
		}
		m, err := g.read()
		if err != nil {
			return false, err
		}
		if run, err := g.handle(m); run || err != nil {
			return interrupted, err
		}
	}
}

// interrupt asks for the time, asks to run at it, and answers the device.
func (g *guest) interrupt(irq int) (err error) {
	if g.mem != nil {
		g.now = time.Duration(atomic.LoadUint64(g.u64(16)))
	} else if g.now, err = g.call(Get, 0); err != nil {
		return err
	}
	if err := g.request(g.now); err != nil {
		return err
	}
	_, err = unix.Write(irq, []byte{1})
	return err
}

// propagate says the guest's time, as before each kick.
func (g *guest) propagate() error {
	if g.mem != nil {
		if id := *g.u32(24) & 0xffff; id != 1 {
			return errors.New("setting time while not running")
		}
		atomic.StoreUint64(g.u64(16), uint64(g.now))
		return nil
	}
	_, err := g.call(Update, g.now)
	return err
}
