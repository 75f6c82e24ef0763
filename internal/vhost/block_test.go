package vhost

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func blockRequest(kind uint32, sector uint64) []byte {
	return append(u32s(kind, 0), u64s(sector)...)
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// The requests of VIRTIO 1.2, 5.2.6, in every shape of descriptors.
func TestBlock(t *testing.T) {
	for _, indirect := range []bool{false, true} {
		m := &memoryDisk{content: make([]byte, 1<<20)}
		f := newFront(t, mustBlock(t, Disk{Size: 1 << 20, Serial: "d0", WriteCache: true, Backend: m}))
		f.connect()
		data := pattern(8192)
		// Header and data in parts that meet at odd places.
		head := blockRequest(blkOut, 16)
		got := f.ask(0, indirect, [][]byte{head[:7], append(head[7:len(head):len(head)], data[:100]...), data[100:5000], data[5000:]}, 1)
		if !bytes.Equal(got, []byte{blkOK}) {
			t.Errorf("write: %x", got)
		}
		got = f.ask(0, indirect, [][]byte{blockRequest(blkIn, 16)}, 4096, 4097)
		if !bytes.Equal(got, append(bytes.Clone(data), blkOK)) {
			t.Error("what was written is not read")
		}
		if got := f.ask(0, indirect, [][]byte{blockRequest(blkSync, 0)}, 1); got[0] != blkOK {
			t.Errorf("flush: %x", got)
		}
		if got := f.ask(0, indirect, [][]byte{blockRequest(blkSerial, 0)}, 20, 1); !bytes.Equal(got, append([]byte("d0"), make([]byte, 19)...)) {
			t.Errorf("serial: %q", got)
		}
		if got := f.ask(0, indirect, [][]byte{blockRequest(99, 0)}, 1); got[0] != blkUnsupported {
			t.Errorf("unknown request: %x", got)
		}
		want := []Request{{Op: Write, Offset: 8192, Length: 8192}, {Op: Read, Offset: 8192, Length: 8192}, {Op: Flush}}
		if diff := cmp.Diff(want, m.asked); diff != "" {
			t.Error(diff)
		}
		// Outside, across the end, near the end of all numbers, half a sector.
		for _, r := range [][]byte{blockRequest(blkIn, 2048), blockRequest(blkIn, 2041), blockRequest(blkIn, 1<<63), blockRequest(blkIn, 1<<64-1)} {
			if got := f.ask(0, indirect, [][]byte{r}, 4096, 1); got[4096] != blkIOError {
				t.Errorf("read outside: %x", got[4096])
			}
		}
		if got := f.ask(0, indirect, [][]byte{blockRequest(blkIn, 0)}, 100, 1); got[100] != blkIOError {
			t.Errorf("read of 100 bytes: %x", got[100])
		}
		m.fail = errors.New("broken")
		if got := f.ask(0, indirect, [][]byte{blockRequest(blkIn, 0)}, 512, 1); got[512] != blkIOError {
			t.Errorf("read of a broken disk: %x", got[512])
		}
	}
}

func TestBlockConfig(t *testing.T) {
	f := newFront(t, mustBlock(t, Disk{Size: 5 << 30, Serial: "d0", ReadOnly: true, Backend: &memoryDisk{}}))
	f.connect()
	if features := binary.LittleEndian.Uint64(f.must(getFeatures, nil)); features&(1<<5) == 0 || features&(1<<9) != 0 {
		t.Errorf("features %#x of a disk that is read-only and has no cache", features)
	}
	// From the start, as virtio_uml.c does, also when it wants the middle.
	got := f.must(getConfig, append(u32s(0, 24, 0), make([]byte, 24)...))
	want := append(u32s(0, 24, 0), u64s(5<<30/512)...)
	want = append(want, u32s(0, mostSegments, 0, 512)...)
	if !bytes.Equal(got, want) {
		t.Errorf("configuration\n%x, want\n%x", got, want)
	}
	if got := f.ask(0, false, [][]byte{blockRequest(blkOut, 0), pattern(512)}, 1); got[0] != blkIOError {
		t.Errorf("write to a read-only disk: %x", got)
	}
	for _, bad := range [][]byte{u32s(0, 300, 0), u32s(1<<31, 1<<31, 0), u32s(0)} {
		if _, err := f.send(getConfig, bad); err == nil {
			t.Errorf("configuration %x was given", bad)
		}
	}
}

// Requests that are done later, in another order, while others come.
func TestLaterAnswers(t *testing.T) {
	m := &memoryDisk{content: make([]byte, 1<<20), holds: true}
	f := newFront(t, mustBlock(t, Disk{Size: 1 << 20, Serial: "d0", Backend: m}))
	f.connect()
	acked := 0
	f.conn.BeforeAck = func() error { acked++; return nil }
	for i := range 3 {
		at := f.alloc(4096)
		copy(f.mem[at:], blockRequest(blkIn, uint64(i)))
		f.desc(f.rings[0], 2*i, guestBase+at, 16, descNext, uint16(2*i+1))
		f.desc(f.rings[0], 2*i+1, guestBase+at+1024, 513, descWrite, 0)
		f.offer(0, uint16(2*i))
	}
	if err := f.kick(0); err != nil {
		t.Fatal(err)
	}
	if err := f.conn.Call(func(int) error { return errors.New("called for nothing") }); err != nil {
		t.Error(err)
	}
	for _, i := range []int{2, 0, 1} {
		m.hold[i]()
	}
	f.answer(0)
	u := f.mem[f.rings[0]+2048:]
	var heads []uint32
	for i := range 3 {
		heads = append(heads, binary.LittleEndian.Uint32(u[4+8*i:]))
	}
	if diff := cmp.Diff([]uint32{4, 0, 2}, heads); diff != "" || acked != 1 {
		t.Errorf("answered in order %v, acknowledged %d kicks", heads, acked)
	}
}
