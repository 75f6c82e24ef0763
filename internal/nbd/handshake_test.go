package nbd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// script answers reads from a fixed input and keeps what was written.
type script struct {
	in  io.Reader
	out bytes.Buffer
}

func (s *script) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s *script) Write(p []byte) (int, error) { return s.out.Write(p) }

func option(opt uint32, data []byte) []byte {
	b := binary.BigEndian.AppendUint64(nil, 0x49484156454f5054)
	b = binary.BigEndian.AppendUint32(b, opt)
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	return append(b, data...)
}

func infoData(name string, wants ...uint16) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(name)))
	b = append(b, name...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(wants)))
	for _, w := range wants {
		b = binary.BigEndian.AppendUint16(b, w)
	}
	return b
}

// answer is one reply to an option, as a client sees it.
type answer struct {
	Opt, Kind uint32
	Data      []byte
}

// answers parses what the server wrote after its greeting. rest is what is no
// reply: the answer to EXPORT_NAME.
func answers(out []byte) (list []answer, rest []byte) {
	for len(out) >= 20 && binary.BigEndian.Uint64(out) == 0x3e889045565a9 {
		n := 20 + int(binary.BigEndian.Uint32(out[16:]))
		if n > len(out) {
			break
		}
		list = append(list, answer{binary.BigEndian.Uint32(out[8:]), binary.BigEndian.Uint32(out[12:]), out[20:n]})
		out = out[n:]
	}
	return list, out
}

func TestHandshake(t *testing.T) {
	const (
		unsup, invalid, unknown, tooBig = 1<<31 + 1, 1<<31 + 3, 1<<31 + 6, 1<<31 + 9
	)
	fixed := []byte{0, 0, 0, 3}
	cat := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	// 1 MiB, flags HAS_FLAGS|FLUSH|FUA|ROTATIONAL|TRIM|WRITE_ZEROES = 0x7d.
	export := answer{7, 3, []byte{0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0x7d}}
	sizes := answer{7, 3, []byte{0, 3, 0, 0, 2, 0, 0, 0, 0x10, 0, 2, 0, 0, 0}}
	ack := answer{7, 1, []byte{}}
	of := func(opt uint32, a answer) answer { a.Opt = opt; return a }
	for _, tt := range []struct {
		name  string
		in    []byte
		want  []answer
		rest  []byte
		serve bool
		err   error // nil, ErrHangUp, or anything else for "some error"
	}{
		{"go", cat(fixed, option(7, infoData("disk", 3))), []answer{export, sizes, ack}, nil, true, nil},
		{"go by the empty name, name wanted", cat(fixed, option(7, infoData("", 1))),
			[]answer{export, sizes, {7, 3, []byte("\x00\x01disk")}, ack}, nil, true, nil},
		{"as QEMU: structured replies refused, then go", cat(fixed, option(8, nil), option(7, infoData("disk", 3))),
			[]answer{{8, unsup, []byte{}}, export, sizes, ack}, nil, true, nil},
		{"unknown export, then abort", cat(fixed, option(7, infoData("x")), option(2, nil)),
			[]answer{{7, unknown, []byte("no export of that name")}, {2, 1, []byte{}}}, nil, false, nil},
		{"list, info, abort", cat(fixed, option(3, nil), option(6, infoData("disk")), option(2, nil)),
			[]answer{{3, 2, []byte("\x00\x00\x00\x04disk")}, {3, 1, []byte{}},
				of(6, export), of(6, sizes), of(6, ack), {2, 1, []byte{}}}, nil, false, nil},
		{"list with data", cat(fixed, option(3, []byte("x")), option(2, nil)),
			[]answer{{3, invalid, []byte("LIST takes no data")}, {2, 1, []byte{}}}, nil, false, nil},
		{"starttls and meta context", cat(fixed, option(5, nil), option(10, []byte{1, 2, 3}), option(2, nil)),
			[]answer{{5, unsup, []byte{}}, {10, unsup, []byte{}}, {2, 1, []byte{}}}, nil, false, nil},
		{"malformed go", cat(fixed, option(7, []byte{0, 0, 0, 9, 'x', 0}), option(2, nil)),
			[]answer{{7, invalid, []byte("malformed request for information")}, {2, 1, []byte{}}}, nil, false, nil},
		{"option of 100 KiB", cat(fixed, option(7, make([]byte, 100<<10)), option(2, nil)),
			[]answer{{7, tooBig, []byte{}}, {2, 1, []byte{}}}, nil, false, nil},
		{"export name", cat(fixed, option(1, []byte("disk"))), nil,
			[]byte{0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0x7d}, true, nil},
		{"export name with zeroes", cat([]byte{0, 0, 0, 1}, option(1, nil)), nil,
			append([]byte{0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0x7d}, make([]byte, 124)...), true, nil},
		{"unknown export name", cat(fixed, option(1, []byte("y"))), nil, nil, false, io.ErrNoProgress},
		{"unknown client flags", []byte{0, 0, 0, 4}, nil, nil, false, io.ErrNoProgress},
		{"no option magic", cat(fixed, make([]byte, 16)), nil, nil, false, io.ErrNoProgress},
		{"gone", fixed, nil, nil, false, ErrHangUp},
		{"tries for ever", cat(fixed, bytes.Repeat(option(99, nil), 1000)), nil, nil, false, io.ErrNoProgress},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := everything.resolve(1 << 20)
			if err != nil {
				t.Fatal(err)
			}
			s := &script{in: bytes.NewReader(tt.in)}
			serve, err := handshake(s, 1<<20, o)
			if serve != tt.serve || (err == nil) != (tt.err == nil) {
				t.Fatalf("handshake = %v, %v", serve, err)
			}
			if tt.err == ErrHangUp && !errors.Is(err, ErrHangUp) {
				t.Errorf("error %v, want ErrHangUp", err)
			}
			greeting := s.out.Next(18)
			if string(greeting) != "NBDMAGICIHAVEOPT\x00\x03" {
				t.Errorf("greeting %q", greeting)
			}
			got, rest := answers(s.out.Bytes())
			if tt.name == "tries for ever" {
				return
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("answers (-want +got):\n%s", d)
			}
			if !bytes.Equal(rest, tt.rest) {
				t.Errorf("rest %x, want %x", rest, tt.rest)
			}
		})
	}
}

func FuzzHandshake(f *testing.F) {
	fixed := []byte{0, 0, 0, 3}
	f.Add(append(bytes.Clone(fixed), option(7, infoData("disk", 3, 1))...))
	f.Add(append(bytes.Clone(fixed), option(1, []byte("disk"))...))
	f.Add(append(append(bytes.Clone(fixed), option(3, nil)...), option(2, nil)...))
	f.Add(append(bytes.Clone(fixed), option(7, []byte{0xff, 0xff, 0xff, 0xff, 0, 0})...))
	f.Add([]byte{0, 0, 0, 0, 1})
	o, err := everything.resolve(1 << 20)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s := &script{in: bytes.NewReader(in)}
		serve, err := handshake(s, 1<<20, o)
		if serve && err != nil {
			t.Errorf("serving and error %v", err)
		}
		s.out.Next(18)
		_, rest := answers(s.out.Bytes())
		switch len(rest) {
		case 0:
		case 10, 134:
			if !serve {
				t.Errorf("answered EXPORT_NAME but does not serve: %x", rest)
			}
		default:
			t.Errorf("%d bytes that are no reply: %x", len(rest), rest)
		}
	})
}
