package nbd

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"
)

// tape is a connection whose incoming half is fixed.
type tape struct {
	net.Conn // nil: nothing else is called
	in       io.Reader
	out      bytes.Buffer
}

func (c *tape) Read(p []byte) (int, error)  { return c.in.Read(p) }
func (c *tape) Write(p []byte) (int, error) { return c.out.Write(p) }
func (c *tape) Close() error                { return nil }

func (c *tape) SetDeadline(time.Time) error { return nil }

func rawRequest(flags, cmd uint16, cookie, offset uint64, length uint32, payload []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, 0x25609513)
	b = binary.BigEndian.AppendUint16(b, flags)
	b = binary.BigEndian.AppendUint16(b, cmd)
	b = binary.BigEndian.AppendUint64(b, cookie)
	b = binary.BigEndian.AppendUint64(b, offset)
	b = binary.BigEndian.AppendUint32(b, length)
	return append(b, payload...)
}

// Whatever requests come, the server answers each whole one exactly once and
// in a form that a client can parse.
func FuzzTransmission(f *testing.F) {
	f.Add(rawRequest(0, cmdRead, 1, 0, 4096, nil))
	f.Add(append(rawRequest(1, cmdWrite, 1, 512, 512, make([]byte, 512)), rawRequest(0, cmdDisc, 0, 0, 0, nil)...))
	f.Add(append(rawRequest(0, cmdWrite, 1, 0, 100, make([]byte, 100)), rawRequest(0, cmdFlush, 2, 0, 0, nil)...))
	f.Add(rawRequest(0, cmdTrim, 9, 1<<63, 0xffffffff, nil))
	f.Add(rawRequest(2, cmdWriteZeroes, 9, 0, 1<<16, nil))
	f.Fuzz(func(t *testing.T, in []byte) {
		const size = 1 << 16
		prefix := append([]byte{0, 0, 0, 3}, option(1, nil)...)
		c := &tape{in: io.MultiReader(bytes.NewReader(prefix), bytes.NewReader(in))}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		Serve(ctx, c, newMemory(size), everything)
		if ctx.Err() != nil {
			t.Fatal("hangs")
		}

		// What should have been answered, from the input alone.
		reads := map[uint64][]int{} // cookie -> lengths of successful answers possible
		want := 0
		for in := in; len(in) >= 28 && binary.BigEndian.Uint32(in) == 0x25609513; {
			cmd, cookie, n := binary.BigEndian.Uint16(in[6:]), binary.BigEndian.Uint64(in[8:]), int(binary.BigEndian.Uint32(in[24:]))
			in = in[28:]
			if cmd == 2 {
				break
			}
			if cmd == 1 {
				if n > len(in) {
					break
				}
				in = in[n:]
			}
			if cmd != 0 {
				n = 0
			}
			want++
			reads[cookie] = append(reads[cookie], n)
		}
		out := c.out.Bytes()[18+10:]
		got := 0
		for len(out) >= 16 {
			if m := binary.BigEndian.Uint32(out); m != 0x67446698 {
				t.Fatalf("answer %d starts with %#x", got, m)
			}
			errno, cookie := binary.BigEndian.Uint32(out[4:]), binary.BigEndian.Uint64(out[8:])
			out = out[16:]
			lengths := reads[cookie]
			if len(lengths) == 0 {
				t.Fatalf("answer to cookie %#x that is not waiting", cookie)
			}
			// The backend answers in order, so cookies are used up in order.
			reads[cookie] = lengths[1:]
			if errno == 0 {
				if lengths[0] > len(out) {
					t.Fatalf("%d bytes of data, want %d", len(out), lengths[0])
				}
				out = out[lengths[0]:]
			}
			got++
		}
		if got != want || len(out) != 0 {
			t.Errorf("%d answers and %d bytes over, want %d answers", got, len(out), want)
		}
	})
}
