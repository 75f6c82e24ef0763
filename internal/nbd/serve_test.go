package nbd

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTransmission(t *testing.T) {
	m := newMemory(1 << 20)
	c, ended := start(t, m, everything)
	payload := bytes.Repeat([]byte("spindle!"), 512)

	c.request(1, cmdWrite, 1, 8192, 4096, payload)
	if cookie, errno, _ := c.reply(0); cookie != 1 || errno != 0 {
		t.Fatalf("write: cookie %d, error %d", cookie, errno)
	}
	c.request(0, cmdRead, 2, 8192, 4096, nil)
	if cookie, errno, data := c.reply(4096); cookie != 2 || errno != 0 || !bytes.Equal(data, payload) {
		t.Fatalf("read: cookie %d, error %d, data as written: %v", cookie, errno, bytes.Equal(data, payload))
	}
	c.request(0, cmdFlush, 3, 0, 0, nil)
	c.reply(0)
	c.request(0, cmdTrim, 4, 8192, 512, nil)
	c.reply(0)
	c.request(2, cmdWriteZeroes, 5, 8704, 512, nil)
	c.reply(0)
	c.request(0, cmdRead, 6, 8192, 2048, nil)
	if _, _, data := c.reply(2048); !bytes.Equal(data[:1024], make([]byte, 1024)) || !bytes.Equal(data[1024:], payload[:1024]) {
		t.Error("trim and write-zeroes did not clear 1024 bytes and nothing else")
	}
	c.request(0, cmdDisc, 7, 0, 0, nil)
	if err := <-ended; err != nil {
		t.Errorf("Serve after disconnect = %v", err)
	}
	if m.flagged() != 1 {
		t.Errorf("%d requests with FUA, want 1", m.flagged())
	}
}

// noting notes how long ago requests were received.
type noting struct {
	*memory
	ago []time.Duration
}

func (n *noting) Submit(r *Request, done func(error)) {
	n.ago = append(n.ago, time.Since(r.Received))
	n.memory.Submit(r, done)
}

// A write was received when its header came, and not when its payload was there.
func TestReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &noting{memory: newMemory(1 << 20)}
		server, conn := net.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- Serve(t.Context(), server, b, everything) }()
		c := &client{t, conn}
		c.greet()
		c.write(uint32(magicRequest), uint16(0), uint16(cmdWrite), uint64(1), uint64(0), uint32(4096))
		time.Sleep(3 * time.Millisecond)
		c.write(make([]byte, 4096))
		c.reply(0)
		c.request(0, cmdRead, 2, 0, 4096, nil)
		c.reply(4096)
		conn.Close()
		<-ended
		if want := []time.Duration{3 * time.Millisecond, 0}; !slices.Equal(b.ago, want) {
			t.Errorf("requests were received %v before they were submitted, want %v", b.ago, want)
		}
	})
}

// Every bad request gets its number, and the next good one is served.
func TestBadRequests(t *testing.T) {
	const size = 1 << 20
	readOnly := Options{ReadOnly: true, Flush: true, Trim: true}
	for _, tt := range []struct {
		name       string
		o          Options
		flags, cmd uint16
		offset     uint64
		length     uint32
		want       Errno
	}{
		{"unknown command", everything, 0, 99, 0, 0, ErrInvalid},
		{"block status", everything, 0, 7, 0, 512, ErrInvalid},
		{"unknown flag", everything, 1 << 9, cmdRead, 0, 512, ErrInvalid},
		{"fast zero", everything, 1 << 4, cmdWriteZeroes, 0, 512, ErrInvalid},
		{"no hole on write", everything, 1 << 1, cmdWrite, 0, 512, ErrInvalid},
		{"FUA not offered", Options{}, 1, cmdWrite, 0, 512, ErrInvalid},
		{"flush not offered", Options{}, 0, cmdFlush, 0, 0, ErrInvalid},
		{"flush with a range", everything, 0, cmdFlush, 512, 512, ErrInvalid},
		{"trim not offered", Options{}, 0, cmdTrim, 0, 512, ErrInvalid},
		{"empty read", everything, 0, cmdRead, 0, 0, ErrInvalid},
		{"unaligned offset", everything, 0, cmdRead, 100, 512, ErrInvalid},
		{"unaligned length", everything, 0, cmdWrite, 0, 100, ErrInvalid},
		{"read beyond the end", everything, 0, cmdRead, size - 512, 1024, ErrInvalid},
		{"write beyond the end", everything, 0, cmdWrite, size, 512, ErrNoSpace},
		{"zeroes beyond the end", everything, 0, cmdWriteZeroes, 0, 0xfffffe00, ErrNoSpace},
		{"trim beyond the end", everything, 0, cmdTrim, 512, size, ErrInvalid},
		{"offset that wraps", everything, 0, cmdRead, 0xfffffffffffffe00, 1024, ErrInvalid},
		{"read of 4 GiB", everything, 0, cmdRead, 0, 0xfffffe00, ErrOverflow},
		{"write of 40 MiB", everything, 0, cmdWrite, 0, 40 << 20, ErrOverflow},
		{"write to read-only", readOnly, 0, cmdWrite, 0, 512, ErrPerm},
		{"trim of read-only", readOnly, 0, cmdTrim, 0, 512, ErrPerm},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMemory(size)
			c, _ := start(t, m, tt.o)
			var payload []byte
			if tt.cmd == cmdWrite {
				payload = make([]byte, tt.length)
			}
			c.request(tt.flags, tt.cmd, 17, tt.offset, tt.length, payload)
			if cookie, errno, _ := c.reply(0); cookie != 17 || Errno(errno) != tt.want {
				t.Errorf("cookie %d, error %d, want %d", cookie, errno, tt.want)
			}
			c.request(0, cmdRead, 18, 0, 512, nil)
			if cookie, errno, _ := c.reply(512); cookie != 18 || errno != 0 {
				t.Errorf("next request: cookie %d, error %d", cookie, errno)
			}
			if n := m.count(Read); n != 1 {
				t.Errorf("backend saw %d reads, want only the good one", n)
			}
		})
	}
}

// held keeps requests until the test lets them go.
type held struct {
	*memory
	mu      sync.Mutex
	waiting []func(error)
	sent    int
	arrived chan struct{}
}

func (h *held) Submit(r *Request, done func(error)) {
	h.mu.Lock()
	r.Sent = func() { h.mu.Lock(); h.sent++; h.mu.Unlock() }
	h.waiting = append(h.waiting, done)
	h.mu.Unlock()
	h.arrived <- struct{}{}
}

func TestOutOfOrder(t *testing.T) {
	h := &held{memory: newMemory(4 << 20), arrived: make(chan struct{}, 64)}
	c, ended := start(t, h, everything)
	const n = 16
	for i := range uint64(n) {
		length := uint32(4096)
		if i%4 == 3 {
			length = 2 << 20 // too long for the short way
		}
		c.request(0, cmdRead, i, 0, length, nil)
		<-h.arrived
	}
	for _, done := range slices.Backward(h.waiting) {
		done(nil)
	}
	// Long replies go through the writer and short ones may not overtake the
	// one it has in hand, but all must come, whole.
	seen := map[uint64]bool{}
	for range n {
		head := c.read(16)
		cookie := be.Uint64(head[8:])
		length := 4096
		if cookie%4 == 3 {
			length = 2 << 20
		}
		c.read(length)
		seen[cookie] = true
	}
	if len(seen) != n {
		t.Errorf("%d different answers, want %d", len(seen), n)
	}
	c.request(0, cmdDisc, 0, 0, 0, nil)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if h.sent != n {
		t.Errorf("Sent called %d times, want %d", h.sent, n)
	}
}

// A disconnect waits for what is in flight.
func TestDisconnectWaits(t *testing.T) {
	h := &held{memory: newMemory(1 << 20), arrived: make(chan struct{}, 1)}
	c, ended := start(t, h, everything)
	c.request(0, cmdWrite, 5, 0, 512, make([]byte, 512))
	<-h.arrived
	c.request(0, cmdDisc, 6, 0, 0, nil)
	select {
	case err := <-ended:
		t.Fatalf("Serve returned %v with a request in flight", err)
	case <-time.After(20 * time.Millisecond):
	}
	h.waiting[0](ErrNoSpace)
	if cookie, errno, _ := c.reply(0); cookie != 5 || Errno(errno) != ErrNoSpace {
		t.Errorf("cookie %d, error %d", cookie, errno)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestInFlightBound(t *testing.T) {
	h := &held{memory: newMemory(1 << 20), arrived: make(chan struct{}, 64)}
	o := everything
	o.InFlight = 2
	c, _ := start(t, h, o)
	for i := range uint64(3) {
		c.request(0, cmdRead, i, 0, 512, nil)
	}
	<-h.arrived
	<-h.arrived
	select {
	case <-h.arrived:
		t.Fatal("third request reached the backend")
	case <-time.After(20 * time.Millisecond):
	}
	h.waiting[0](nil)
	c.reply(512)
	<-h.arrived
}

func TestEndings(t *testing.T) {
	t.Run("client killed", func(t *testing.T) {
		c, ended := start(t, newMemory(1<<20), everything)
		c.conn.Close()
		if err := <-ended; !errors.Is(err, ErrHangUp) {
			t.Errorf("Serve = %v, want ErrHangUp", err)
		}
	})
	t.Run("client killed inside a payload", func(t *testing.T) {
		c, ended := start(t, newMemory(1<<20), everything)
		c.request(0, cmdWrite, 1, 0, 4096, make([]byte, 100))
		c.conn.Close()
		if err := <-ended; !errors.Is(err, ErrHangUp) {
			t.Errorf("Serve = %v, want ErrHangUp", err)
		}
	})
	t.Run("out of step", func(t *testing.T) {
		c, ended := start(t, newMemory(1<<20), everything)
		c.write(make([]byte, requestLen))
		if err := <-ended; err == nil || errors.Is(err, ErrHangUp) {
			t.Errorf("Serve = %v, want an error about the magic", err)
		}
	})
	t.Run("cancelled with a request in flight", func(t *testing.T) {
		h := &held{memory: newMemory(1 << 20), arrived: make(chan struct{}, 1)}
		server, peer := net.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- Serve(ctx, server, h, Options{}) }()
		c := &client{t, peer}
		c.read(18)
		c.write(uint32(3), uint64(0x49484156454f5054), uint32(1), uint32(0))
		c.read(10)
		c.request(0, cmdRead, 1, 0, 512, nil)
		<-h.arrived
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Serve = %v, want context.Canceled", err)
		}
		h.waiting[0](nil) // late, and harmless
	})
}

func TestAnsweredTwicePanics(t *testing.T) {
	h := &held{memory: newMemory(1 << 20), arrived: make(chan struct{}, 1)}
	c, _ := start(t, h, everything)
	c.request(0, cmdRead, 1, 0, 512, nil)
	<-h.arrived
	h.waiting[0](nil)
	defer func() {
		if recover() == nil {
			t.Error("the second answer did not panic")
		}
	}()
	h.waiting[0](nil)
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    Options
		size int64
		ok   bool
	}{
		{"zero value", Options{}, 512, true},
		{"bytes", Options{BlockSize: BlockSize{Min: 1}}, 513, true},
		{"size unaligned", Options{}, 513, false},
		{"minimum no power of two", Options{BlockSize: BlockSize{Min: 768}}, 1536, false},
		{"minimum too large", Options{BlockSize: BlockSize{Min: 128 << 10}}, 0, false},
		{"maximum below preferred", Options{BlockSize: BlockSize{Max: 512}}, 512, false},
		{"maximum not a multiple", Options{BlockSize: BlockSize{Max: 10000}}, 512, false},
	} {
		if _, err := tt.o.resolve(tt.size); (err == nil) != tt.ok {
			t.Errorf("%s: resolve = %v, want ok %v", tt.name, err, tt.ok)
		}
	}
}
