package sparse

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// Parts of any lengths, against a plain byte slice.
func TestVectors(t *testing.T) {
	const size = 1 << 20
	f := open1(t, t.TempDir(), size)
	want := make([]byte, size)
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		off := r.Int64N(size/512) * 512
		n := min(r.Int64N(200)*512+512, size-off)
		p := make([]byte, n)
		for range r.IntN(4) {
			at := r.IntN(len(p))
			for i := range min(r.IntN(9000), len(p)-at) {
				p[at+i] = byte(r.Uint32())
			}
		}
		var parts [][]byte
		for rest := p; len(rest) > 0; {
			k := min(1+r.IntN(8192), len(rest))
			parts, rest = append(parts, rest[:k]), rest[k:]
		}
		if err := f.WriteVec(parts, off); err != nil {
			t.Fatal(err)
		}
		copy(want[off:], p)
		for _, part := range parts {
			for i := range part {
				part[i] = 0xee
			}
		}
		if err := f.ReadVec(parts, off); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(p, want[off:off+n]) {
			t.Fatalf("content differs in [%d, %d)", off, off+n)
		}
	}
	got := make([]byte, size)
	if err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
		t.Errorf("all of it differs (%v)", err)
	}
}

// Pages of zeros over holes take nothing.
func TestVectorOfZeros(t *testing.T) {
	f := open1(t, "", 500e9)
	var parts [][]byte
	for range 320 {
		parts = append(parts, make([]byte, 4096))
	}
	if err := f.WriteVec(parts, 300e9); err != nil {
		t.Fatal(err)
	}
	if n := allocated(t, f); n != 0 {
		t.Errorf("zeros take %d bytes", n)
	}
}

func BenchmarkVectorOfZeros(b *testing.B) {
	f := open1(b, b.TempDir(), 500e9)
	var parts [][]byte
	for range 320 {
		parts = append(parts, make([]byte, 4096))
	}
	b.SetBytes(320 * 4096)
	for i := range b.N {
		if err := f.WriteVec(parts, int64(i%100000)*320*4096); err != nil {
			b.Fatal(err)
		}
	}
}
