// Fake stands for a User Mode Linux kernel in tests of what serves it: it
// connects, keeps time and drives its disks as the kernel's arch/um does
// (kernel/time.c, drivers/virtio_uml.c), and has no guest inside. mode= on its
// command line says what it plays.
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func must(err error) {
	if err != nil {
		fmt.Printf("[    0.000000] fake: %v\n", err)
		os.Exit(1)
	}
}

func dial(path string) int {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(err)
	must(unix.Connect(fd, &unix.SockaddrUnix{Name: path}))
	return fd
}

func readFull(fd int, n int) []byte {
	b := make([]byte, n)
	for at := 0; at < n; {
		k, err := unix.Read(fd, b[at:])
		must(err)
		if k == 0 {
			must(fmt.Errorf("hung up"))
		}
		at += k
	}
	return b
}

// clock is the guest's time, by shared memory.
type clock struct {
	fd  int
	mem []byte
	now uint64
	seq uint32
}

const (
	opAck, opStart, opWait, opRun, opTOD = 0, 1, 3, 6, 8
	client                               = 4096 + 128
)

func message(op, seq uint32, t uint64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, op)
	b = binary.LittleEndian.AppendUint32(b, seq)
	return binary.LittleEndian.AppendUint64(b, t)
}

func (c *clock) u64(at int) *uint64 { return (*uint64)(unsafe.Pointer(&c.mem[at])) }
func (c *clock) u32(at int) *uint32 { return (*uint32)(unsafe.Pointer(&c.mem[at])) }

func connectClock(path string) *clock {
	c := &clock{fd: dial(path)}
	unix.Write(c.fd, message(opStart, 1, 1<<64-1))
	b, oob := make([]byte, 16), make([]byte, unix.CmsgSpace(8))
	_, n, _, _, err := unix.Recvmsg(c.fd, b, oob, 0)
	must(err)
	cs, err := unix.ParseSocketControlMessage(oob[:n])
	must(err)
	fds, err := unix.ParseUnixRights(&cs[0])
	must(err)
	c.mem, err = unix.Mmap(fds[0], 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(err)
	*c.u32(client) |= 1
	unix.Write(c.fd, message(opTOD, 2, 0))
	readFull(c.fd, 16)
	return c
}

// compute lets time pass without sleeping, as far as that is allowed.
func (c *clock) compute(ns uint64) {
	if to := c.now + ns; to < *c.u64(8) {
		c.now = to
		*c.u64(16) = to
		return
	}
	c.sleep(c.now+ns, nil)
}

// sleep goes to time to, or to an interrupt of one of the disks before.
func (c *clock) sleep(to uint64, disks []*disk) {
	*c.u64(16) = c.now
	*c.u32(client + 4) |= 1
	*c.u64(client + 8) = to
	unix.Write(c.fd, message(opWait, 3, 0))
	for {
		fds := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}
		for _, d := range disks {
			fds = append(fds, unix.PollFd{Fd: int32(d.back), Events: unix.POLLIN})
		}
		_, err := unix.Poll(fds, -1)
		if err == unix.EINTR {
			continue
		}
		must(err)
		for i, d := range disks {
			if fds[1+i].Revents == 0 {
				continue
			}
			call := readFull(d.back, 20)
			c.now = *c.u64(16)
			*c.u64(client + 8) = c.now // wants to run at once
			d.news = true
			unix.Write(d.back, append(vhostHeader(binary.LittleEndian.Uint32(call), 1|4, 8), make([]byte, 8)...))
		}
		if fds[0].Revents == 0 {
			continue
		}
		m := readFull(c.fd, 16)
		if binary.LittleEndian.Uint32(m) == opRun {
			t := binary.LittleEndian.Uint64(m[8:])
			if t < c.now {
				must(fmt.Errorf("time goes backwards"))
			}
			c.now = t
			*c.u32(client + 4) &^= 1
			return
		}
	}
}

// disk is a virtio-blk or virtio-scsi device.
type disk struct {
	c          *clock
	fd, back   int
	mem        []byte
	queue      int
	scsi, news bool
	avail      uint16
}

const memBase = 0x10000000

func vhostHeader(request, flags, size uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, request)
	b = binary.LittleEndian.AppendUint32(b, flags)
	return binary.LittleEndian.AppendUint32(b, size)
}

// send sends a message and gives the answer, if there is to be one.
func (d *disk) send(request uint32, payload []byte, answered bool, fds ...int) []byte {
	flags := uint32(1)
	if answered && request != 1 && request != 15 && request != 24 {
		flags |= 8
	}
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	must(unix.Sendmsg(d.fd, append(vhostHeader(request, flags, uint32(len(payload))), payload...), oob, nil, 0))
	if !answered {
		return nil
	}
	h := readFull(d.fd, 12)
	return readFull(d.fd, int(binary.LittleEndian.Uint32(h[8:])))
}

func words(v ...uint32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

func longs(v ...uint64) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}

func connectDisk(c *clock, path string, scsi bool) *disk {
	d := &disk{c: c, fd: dial(path), scsi: scsi}
	if scsi {
		d.queue = 2
	}
	d.send(3, nil, false)
	features := d.send(1, nil, true)
	proto := d.send(15, nil, true)
	d.send(16, proto, true)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(err)
	d.back = pair[0]
	d.send(21, nil, true, pair[1])
	d.send(2, features, true)
	const size = 8 << 20
	fd, err := unix.MemfdCreate("guest", 0)
	must(err)
	must(unix.Ftruncate(fd, size))
	d.mem, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(err)
	d.send(5, append(words(1, 0), longs(memBase, size, memBase, 0)...), true, fd)
	q := uint32(d.queue)
	d.send(8, words(q, 16), true)
	d.send(10, words(q, 0), true)
	d.send(9, append(words(q, 0), longs(memBase, memBase+2048, memBase+1024, 0)...), true)
	d.send(18, words(q, 1), true)
	return d
}

// ask makes one request and sleeps until it is done. out and in lie one after
// the other behind the ring.
func (d *disk) ask(out []byte, in int) []byte {
	const at = 4096
	copy(d.mem[at:], out)
	put := func(i int, addr uint64, n uint32, flags, next uint16) {
		e := d.mem[16*i:]
		binary.LittleEndian.PutUint64(e, addr)
		binary.LittleEndian.PutUint32(e[8:], n)
		binary.LittleEndian.PutUint16(e[12:], flags)
		binary.LittleEndian.PutUint16(e[14:], next)
	}
	put(0, memBase+at, uint32(len(out)), 1, 1)
	put(1, memBase+at+uint64(len(out)), uint32(in), 2, 0)
	binary.LittleEndian.PutUint16(d.mem[1024+4+2*(d.avail%16):], 0)
	d.avail++
	binary.LittleEndian.PutUint16(d.mem[1024+2:], d.avail)
	*d.c.u64(16) = d.c.now
	d.news = false
	d.send(35, words(uint32(d.queue), 0), true)
	for !d.news {
		d.c.sleep(1<<63-1, []*disk{d})
	}
	return bytes.Clone(d.mem[at+len(out):][:in])
}

func (d *disk) write(off int64, data []byte) {
	if d.scsi {
		h := make([]byte, 51)
		h[0], h[2] = 1, 0x40
		h[19] = 0x2a
		binary.BigEndian.PutUint32(h[21:], uint32(off/512))
		binary.BigEndian.PutUint16(h[26:], uint16(len(data)/512))
		if r := d.ask(append(h, data...), 108); r[10] != 0 || r[11] != 0 {
			must(fmt.Errorf("write: status %d, response %d, sense %x", r[10], r[11], r[12:30]))
		}
		return
	}
	h := append(words(1, 0), longs(uint64(off/512))...)
	if r := d.ask(append(h, data...), 1); r[0] != 0 {
		must(fmt.Errorf("write: status %d", r[0]))
	}
}

func (d *disk) read(off int64, n int) []byte {
	h := make([]byte, 51)
	h[0], h[2] = 1, 0x40
	h[19] = 0x28
	binary.BigEndian.PutUint32(h[21:], uint32(off/512))
	binary.BigEndian.PutUint16(h[26:], uint16(n/512))
	r := d.ask(h, 108+n)
	if r[10] != 0 || r[11] != 0 {
		must(fmt.Errorf("read: status %d, response %d", r[10], r[11]))
	}
	return r[108:]
}

func (d *disk) say(word string) {
	b := make([]byte, 4096)
	copy(b, word)
	d.write(0, b)
}

func main() {
	mode, clockPath, requests := "", "", 64
	var mail, drive string
	for _, a := range os.Args[1:] {
		if v, ok := strings.CutPrefix(a, "mode="); ok {
			mode = v
		}
		fmt.Sscanf(a, "requests=%d", &requests)
		if v, ok := strings.CutPrefix(a, "time-travel=ext:"); ok {
			clockPath = v
		}
		if v, ok := strings.CutPrefix(a, "virtio_uml.device="); ok {
			name, kind, _ := strings.Cut(v, ":")
			if kind == "8" {
				drive = name
			} else if name == "spindle-mailbox" {
				mail = name
			}
		}
	}
	say := func(format string, args ...any) { fmt.Printf("[    0.100000] "+format+"\n", args...) }
	say("Linux version fake")
	c := connectClock(clockPath)
	m, d := connectDisk(c, mail, false), connectDisk(c, drive, true)
	kernel := readTail()
	if kernel.panics {
		mode = "panic"
	}
	switch mode {
	case "off":
		return
	case "hangs-up":
		unix.Close(c.fd)
		time.Sleep(time.Hour)
	case "signaled":
		say("wait_stub_done : failed to wait for SIGTRAP, pid = 9157, n = 9157, errno = 25, status = 0x127f")
		say("Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b")
	case "panic":
		say("Oops: a test")
		say("Kernel panic - not syncing: a test")
		syscall.Kill(os.Getpid(), syscall.SIGABRT)
		time.Sleep(time.Hour)
	case "fatal":
		say("spindle: fatal: a test")
		return
	case "asleep":
		c.sleep(1<<63-1, []*disk{m, d})
	case "late":
		for {
			c.sleep(c.now+uint64(time.Minute), nil)
		}
	case "loop":
		for i := 0; ; i++ {
			if i < 0 {
				break
			}
		}
	case "crash":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Hour)
	case "liar":
		m.say("done")
		return
	case "rings":
		binary.LittleEndian.PutUint16(d.mem[1024+2:], 999)
		d.send(35, words(2, 0), true)
	}
	c.compute(uint64(100 * time.Millisecond))
	m.say("ready")
	at := uint64(1)
	for i := range requests {
		at = at*6364136223846793005 + 1442695040888963407
		off := int64(at>>33) % (1 << 18) * 4096
		if i%2 == 0 && requests == 64 {
			data := bytes.Repeat([]byte{byte(i + 1)}, 8192)
			d.write(off, data)
			if got := d.read(off, 8192); !bytes.Equal(got, data) {
				must(fmt.Errorf("request %d: other data than was written", i))
			}
		}
		d.read(off, 4096)
		c.compute(1000)
	}
	m.say("done")
	archive := []byte(tarball)
	if kernel.there {
		archive = []byte(kernel.result())
	}
	m.write(4096, append(archive, make([]byte, (4096-len(archive)%4096)%4096)...))
	m.say(fmt.Sprint("result ", len(archive)))
	if mode == "lingers" {
		time.Sleep(time.Hour)
	}
	say("spindle: told everything at %d", c.now)
}
