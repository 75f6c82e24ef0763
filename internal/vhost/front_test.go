package vhost

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	guestBase = 0x100000
	userBase  = 0x7f0000000000
	memSize   = 4 << 20
	ringNum   = 16
)

// front is the other end: a machine with some memory and a driver for one
// device, of which the test says each step.
type front struct {
	t     testing.TB
	conn  *Conn
	sock  int
	back  int // our end of the channel for calls
	memfd int
	mem   []byte
	next  uint64 // where free memory begins
	avail [3]uint16
	rings [3]uint64 // offset in mem
}

// memoryDisk keeps its content in memory and notes what it was asked.
type memoryDisk struct {
	content []byte
	asked   []Request
	fail    error
	hold    []func() // requests that are not done before somebody says so
	holds   bool
}

func (m *memoryDisk) Submit(r *Request, done func(error)) {
	m.asked = append(m.asked, Request{Op: r.Op, Offset: r.Offset, Length: r.Length, FUA: r.FUA})
	if m.fail == nil {
		at := r.Offset
		for _, p := range r.Data {
			if r.Op == Read {
				copy(p, m.content[at:])
			} else {
				copy(m.content[at:], p)
			}
			at += int64(len(p))
		}
	}
	if m.holds {
		m.hold = append(m.hold, func() { done(m.fail) })
		return
	}
	done(m.fail)
}

func newFront(t testing.TB, dev Device) *front {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{t: t, conn: NewConn(os.NewFile(uintptr(fds[0]), "conn"), dev), sock: fds[1], back: -1, next: 0x1000}
	if f.memfd, err = unix.MemfdCreate("guest", unix.MFD_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	unix.Ftruncate(f.memfd, memSize)
	if f.mem, err = unix.Mmap(f.memfd, 0, memSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.conn.Close()
		unix.Munmap(f.mem)
		for _, fd := range []int{f.sock, f.memfd, f.back} {
			if fd >= 0 {
				unix.Close(fd)
			}
		}
	})
	return f
}

// send sends a message, has it handled, and gives the answer's payload.
func (f *front) send(request uint32, payload []byte, files ...int) ([]byte, error) {
	f.t.Helper()
	h := header{request, flagVersion | flagNeedReply, uint32(len(payload))}
	var oob []byte
	if len(files) > 0 {
		oob = unix.UnixRights(files...)
	}
	if err := unix.Sendmsg(f.sock, append(h.append(nil), payload...), oob, nil, 0); err != nil {
		f.t.Fatal(err)
	}
	if err := f.conn.Handle(); err != nil {
		return nil, err
	}
	b := make([]byte, 8192)
	n, err := unix.Read(f.sock, b)
	if err != nil {
		f.t.Fatal(err)
	}
	got, err := parseHeader(b[:headerSize])
	if err != nil || got.request != request || got.flags&flagReply == 0 || int(got.size) != n-headerSize {
		f.t.Fatalf("request %d was answered by %+v, %v", request, got, err)
	}
	return b[headerSize:n], nil
}

func (f *front) must(request uint32, payload []byte, files ...int) []byte {
	f.t.Helper()
	b, err := f.send(request, payload, files...)
	if err != nil {
		f.t.Fatalf("request %d: %v", request, err)
	}
	return b
}

func u32s(values ...uint32) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func u64s(values ...uint64) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// connect goes through what arch/um's virtio_uml.c does at probe.
func (f *front) connect() {
	f.t.Helper()
	// Without REPLY_ACK there is no answer to a message that asks for nothing.
	unix.Write(f.sock, header{setOwner, flagVersion, 0}.append(nil))
	if err := f.conn.Handle(); err != nil {
		f.t.Fatal(err)
	}
	features := binary.LittleEndian.Uint64(f.must(getFeatures, nil))
	if features&featureProtocol == 0 || features&featureVersion1 == 0 {
		f.t.Fatalf("features %#x", features)
	}
	proto := binary.LittleEndian.Uint64(f.must(getProtocolFeatures, nil))
	unix.Write(f.sock, append(header{setProtocolFeatures, flagVersion, 8}.append(nil), u64s(proto)...))
	if err := f.conn.Handle(); err != nil {
		f.t.Fatal(err)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	f.back = fds[0]
	f.must(setBackendReqFd, nil, fds[1])
	unix.Close(fds[1])
	f.must(setFeatures, u64s(features))
	f.shareMemory()
	for i := range f.conn.queues {
		f.ring(uint32(i))
	}
}

func (f *front) shareMemory() {
	f.t.Helper()
	// In two regions, the second in the file's middle.
	const half = memSize / 2
	table := append(u32s(2, 0), u64s(guestBase, half, userBase, 0, guestBase+half, half, userBase+half, half)...)
	f.must(setMemTable, table, f.memfd, f.memfd)
}

func (f *front) ring(i uint32) {
	f.t.Helper()
	at := f.alloc(4096)
	f.rings[i] = at
	f.must(setVringNum, u32s(i, ringNum))
	f.must(setVringBase, u32s(i, 0))
	f.must(setVringAddr, append(u32s(i, 0), u64s(userBase+at, userBase+at+2048, userBase+at+1024, 0)...))
	f.must(setVringEnable, u32s(i, 1))
}

func (f *front) alloc(n uint64) uint64 {
	at := f.next
	f.next += (n + 4095) / 4096 * 4096
	if f.next > memSize {
		f.t.Fatal("out of memory")
	}
	return at
}

// desc writes entry i of a table at offset table of the memory.
func (f *front) desc(table uint64, i int, addr uint64, length uint32, flags, next uint16) {
	d := f.mem[table+16*uint64(i):]
	binary.LittleEndian.PutUint64(d, addr)
	binary.LittleEndian.PutUint32(d[8:], length)
	binary.LittleEndian.PutUint16(d[12:], flags)
	binary.LittleEndian.PutUint16(d[14:], next)
}

// offer puts head into the available ring.
func (f *front) offer(queue int, head uint16) {
	a := f.mem[f.rings[queue]+1024:]
	binary.LittleEndian.PutUint16(a[4+2*(f.avail[queue]%ringNum):], head)
	f.avail[queue]++
	binary.LittleEndian.PutUint16(a[2:], f.avail[queue])
}

func (f *front) kick(queue int) error {
	f.t.Helper()
	_, err := f.send(vringKick, u32s(uint32(queue), 0))
	return err
}

// place puts a request in the ring: out parts with their bytes, in parts with
// their lengths. It gives where the in parts lie.
func (f *front) place(queue int, indirect bool, out [][]byte, in []int) (where [][]byte) {
	table, flag := f.rings[queue], uint16(0)
	if indirect {
		table = f.alloc(4096)
	}
	n := len(out) + len(in)
	for i := range n {
		flag = descNext
		if i == n-1 {
			flag = 0
		}
		if i < len(out) {
			at := f.alloc(uint64(len(out[i])))
			copy(f.mem[at:], out[i])
			f.desc(table, i, guestBase+at, uint32(len(out[i])), flag, uint16(i+1))
			continue
		}
		k := in[i-len(out)]
		at := f.alloc(uint64(k))
		f.desc(table, i, guestBase+at, uint32(k), flag|descWrite, uint16(i+1))
		where = append(where, f.mem[at:at+uint64(k)])
	}
	if indirect {
		f.desc(f.rings[queue], 0, guestBase+table, uint32(16*n), descIndirect, 0)
	}
	f.offer(queue, 0)
	return where
}

// ask makes a request and gives what came into its in parts, joined.
func (f *front) ask(queue int, indirect bool, out [][]byte, in ...int) []byte {
	f.t.Helper()
	where := f.place(queue, indirect, out, in)
	if err := f.kick(queue); err != nil {
		f.t.Fatal(err)
	}
	head, length := f.answer(queue)
	if head != 0 {
		f.t.Fatalf("request %d was answered", head)
	}
	got := slices.Concat(where...)
	if int(length) > len(got) {
		f.t.Fatalf("%d bytes written of %d", length, len(got))
	}
	return got
}

// answer takes the next entry of the used ring, and hears the call for it.
func (f *front) answer(queue int) (head, length uint32) {
	f.t.Helper()
	u := f.mem[f.rings[queue]+2048:]
	if idx := binary.LittleEndian.Uint16(u[2:]); idx != f.avail[queue] {
		f.t.Fatalf("used ring at %d, want %d", idx, f.avail[queue])
	}
	e := u[4+8*((f.avail[queue]-1)%ringNum):]
	called := false
	err := f.conn.Call(func(int) error {
		called = true
		b := make([]byte, 100)
		n, err := unix.Read(f.back, b)
		if want := append(header{backendVringCall, flagVersion | flagNeedReply, 8}.append(nil), u32s(uint32(queue), 0)...); !bytes.Equal(b[:n], want) {
			f.t.Errorf("call is %x, want %x", b[:n], want)
		}
		unix.Write(f.back, append(header{backendVringCall, flagVersion | flagReply, 8}.append(nil), u64s(0)...))
		return err
	})
	if err != nil || !called {
		f.t.Fatalf("called %v, %v", called, err)
	}
	return binary.LittleEndian.Uint32(e), binary.LittleEndian.Uint32(e[4:])
}

// A machine that hangs up between messages ends well, inside of one it does not.
func TestHangUp(t *testing.T) {
	f := newFront(t, mustBlock(t, Disk{Size: 1 << 20, Serial: "x", Backend: &memoryDisk{}}))
	unix.Close(f.sock)
	f.sock = -1
	if err := f.conn.Handle(); !errors.Is(err, io.EOF) {
		t.Errorf("error %v, want the end of the file", err)
	}
	f = newFront(t, mustBlock(t, Disk{Size: 1 << 20, Serial: "x", Backend: &memoryDisk{}}))
	unix.Write(f.sock, []byte{1, 0, 0, 0})
	unix.Close(f.sock)
	f.sock = -1
	if err := f.conn.Handle(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v, want an end before its time", err)
	}
}

func mustBlock(t testing.TB, d Disk) Device {
	t.Helper()
	dev, err := Block(d)
	if err != nil {
		t.Fatal(err)
	}
	return dev
}

func mustSCSI(t testing.TB, d Disk) Device {
	t.Helper()
	dev, err := SCSI(d)
	if err != nil {
		t.Fatal(err)
	}
	return dev
}
