package nbd

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
)

// memory is a device in memory that answers at once and counts.
type memory struct {
	mu     sync.Mutex
	data   []byte
	counts map[Op]int
	fua    int
}

func newMemory(size int) *memory {
	return &memory{data: make([]byte, size), counts: map[Op]int{}}
}

func (m *memory) Size() int64 { return int64(len(m.data)) }

func (m *memory) Submit(r *Request, done func(error)) {
	m.mu.Lock()
	m.counts[r.Op]++
	if r.FUA {
		m.fua++
	}
	span := m.data[r.Offset : r.Offset+r.Length]
	switch r.Op {
	case Read:
		copy(r.Data, span)
	case Write:
		copy(span, r.Data)
	case Trim, WriteZeroes:
		clear(span)
	}
	m.mu.Unlock()
	done(nil)
}

func (m *memory) count(op Op) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counts[op]
}

// content gives a copy of the device; the client's process is no
// synchronisation that the race detector knows.
func (m *memory) content() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return bytes.Clone(m.data)
}

func (m *memory) flagged() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fua
}

// everything offers all there is.
var everything = Options{Name: "disk", Flush: true, FUA: true, Trim: true, WriteZeroes: true, Rotational: true}

// client speaks the client's side byte by byte, independent of the server's
// encoding helpers.
type client struct {
	t    testing.TB
	conn net.Conn
}

// start serves b and gives a client that has finished the handshake.
func start(t testing.TB, b Backend, o Options) (*client, <-chan error) {
	t.Helper()
	server, file, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.FileConn(file)
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	ended := make(chan error, 1)
	go func() { ended <- Serve(t.Context(), server, b, o) }()
	c := &client{t, conn}
	t.Cleanup(func() { conn.Close() })
	c.greet()
	return c, ended
}

// greet does the handshake.
func (c *client) greet() {
	c.t.Helper()
	c.read(18)
	c.write(uint32(3))
	c.write(uint64(0x49484156454f5054), uint32(7), uint32(6), uint32(0), uint16(0))
	for {
		head := c.read(20)
		c.read(int(binary.BigEndian.Uint32(head[16:])))
		if binary.BigEndian.Uint32(head[12:]) == 1 {
			return
		}
	}
}

func (c *client) write(values ...any) {
	c.t.Helper()
	var out []byte
	for _, v := range values {
		var err error
		if out, err = binary.Append(out, binary.BigEndian, v); err != nil {
			c.t.Fatal(err)
		}
	}
	if _, err := c.conn.Write(out); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) read(n int) []byte {
	c.t.Helper()
	buf := make([]byte, n)
	if _, err := io.ReadFull(c.conn, buf); err != nil {
		c.t.Fatal(err)
	}
	return buf
}

func (c *client) request(flags, cmd uint16, cookie, offset uint64, length uint32, payload []byte) {
	c.t.Helper()
	c.write(uint32(0x25609513), flags, cmd, cookie, offset, length, payload)
}

// reply reads one answer; n is how many bytes of data success brings.
func (c *client) reply(n int) (cookie uint64, errno uint32, data []byte) {
	c.t.Helper()
	head := c.read(16)
	if m := binary.BigEndian.Uint32(head); m != 0x67446698 {
		c.t.Fatalf("reply magic %#x", m)
	}
	if errno = binary.BigEndian.Uint32(head[4:]); errno == 0 {
		data = c.read(n)
	}
	return binary.BigEndian.Uint64(head[8:]), errno, data
}
