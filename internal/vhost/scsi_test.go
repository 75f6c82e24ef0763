package vhost

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scsiAsk sends a command and gives status, sense key with its codes, and data.
func (f *front) scsiAsk(lun uint16, cdb []byte, out []byte, in int) (response, status byte, sense [3]byte, data []byte) {
	f.t.Helper()
	h := make([]byte, scsiHeader)
	h[0], h[2], h[3] = 1, byte(0x40|lun>>8), byte(lun)
	copy(h[19:], cdb)
	parts := [][]byte{h}
	if out != nil {
		parts = append(parts, out)
	}
	lengths := []int{scsiReply}
	if in > 0 {
		lengths = append(lengths, in)
	}
	got := f.ask(2, true, parts, lengths...)
	r := got[:scsiReply]
	if n := binary.LittleEndian.Uint32(r); n > 0 {
		sense = [3]byte{r[12+2], r[12+12], r[12+13]}
	}
	return r[11], r[10], sense, got[scsiReply:]
}

func scsiFront(t testing.TB, d Disk) (*front, *memoryDisk) {
	m := &memoryDisk{content: make([]byte, d.Size)}
	d.Backend = m
	f := newFront(t, mustSCSI(t, d))
	f.connect()
	return f, m
}

var spinning = Disk{Size: 1 << 20, Serial: "d0", WriteCache: true, Rotation: 7200, QueueDepth: 31, FUA: true}

func cdb10(op, flags byte, lba uint32, blocks uint16) []byte {
	b := []byte{op, flags}
	b = binary.BigEndian.AppendUint32(b, lba)
	return append(b, 0, byte(blocks>>8), byte(blocks), 0)
}

func cdb16(op, flags byte, lba uint64, blocks uint32) []byte {
	b := binary.BigEndian.AppendUint64([]byte{op, flags}, lba)
	return append(binary.BigEndian.AppendUint32(b, blocks), 0, 0)
}

// What a disk says of itself; the bytes are those of the standards.
func TestSCSIInquiry(t *testing.T) {
	f, _ := scsiFront(t, spinning)
	inquiry := func(vital, page byte) []byte { return []byte{opInquiry, vital, page, 0, 96, 0} }
	for _, tt := range []struct {
		name string
		cdb  []byte
		want []byte // beginning
	}{
		{"standard", inquiry(0, 0), []byte("\x00\x00\x05\x02\x1f\x00\x00\x02SPINDLE modelled disk   1   ")},
		{"pages", inquiry(1, 0), []byte{0, 0, 0, 5, 0, 0x80, 0x83, 0xb0, 0xb1}},
		{"serial", inquiry(1, 0x80), []byte("\x00\x80\x00\x02d0")},
		{"identity", inquiry(1, 0x83), []byte("\x00\x83\x00\x0e\x02\x01\x00\x0aSPINDLE d0")},
		{"rotation", inquiry(1, 0xb1), []byte{0, 0xb1, 0, 60, 0x1c, 0x20}}, // 7200
		{"capacity", []byte{opReadCapacity}, []byte{0, 0, 7, 0xff, 0, 0, 2, 0}},
		{"capacity 16", append([]byte{opServiceIn16, 0x10, 0, 0, 0, 0, 0, 0, 0, 0}, 0, 0, 0, 32, 0, 0), []byte{0, 0, 0, 0, 0, 0, 7, 0xff, 0, 0, 2, 0}},
		// DPO and FUA, then the caching page with its write cache on.
		{"cache", []byte{opModeSense6, 0, 8, 0, 192, 0}, []byte{23, 0, 0x10, 0, 8, 18, 4}},
		{"cache, long", []byte{opModeSense10, 0, 8, 0, 0, 0, 0, 0, 192, 0}, []byte{0, 26, 0, 0x10, 0, 0, 0, 0, 8, 18, 4}},
		{"units", []byte{opReportLUNs, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0}, []byte{0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
	} {
		response, status, sense, data := f.scsiAsk(0, tt.cdb, nil, 256)
		if response != scsiOK || status != 0 || !bytes.HasPrefix(data, tt.want) {
			t.Errorf("%s: response %d, status %d, sense %x, data %q, want %q", tt.name, response, status, sense, data[:40], tt.want)
		}
	}
}

func TestSCSITransfer(t *testing.T) {
	f, m := scsiFront(t, spinning)
	data := pattern(4096)
	for _, tt := range []struct {
		name string
		cdb  []byte
		out  []byte
		in   int
	}{
		{"write 10", cdb10(opWrite10, 0, 8, 8), data, 0},
		{"write 10 forced", cdb10(opWrite10, 8, 16, 8), data, 0},
		{"write 16 forced", cdb16(opWrite16, 8, 24, 8), data, 0},
		{"read 10", cdb10(opRead10, 0, 8, 8), nil, 4096},
		{"read 16, forced does not matter", cdb16(opRead16, 8, 24, 8), nil, 4096},
		{"read 6", []byte{opRead6, 0, 0, 8, 8, 0}, nil, 4096},
		{"flush", cdb10(opSyncCache10, 0, 0, 0), nil, 0},
		{"flush 16", cdb16(opSyncCache16, 0, 0, 0), nil, 0},
		{"ready", []byte{opTestUnitReady}, nil, 0},
	} {
		response, status, sense, got := f.scsiAsk(0, tt.cdb, tt.out, tt.in)
		if response != scsiOK || status != 0 {
			t.Errorf("%s: response %d, status %d, sense %x", tt.name, response, status, sense)
		}
		if tt.in > 0 && !bytes.Equal(got, data) {
			t.Errorf("%s: other data than was written", tt.name)
		}
	}
	want := []Request{
		{Op: Write, Offset: 4096, Length: 4096}, {Op: Write, Offset: 8192, Length: 4096, FUA: true}, {Op: Write, Offset: 12288, Length: 4096, FUA: true},
		{Op: Read, Offset: 4096, Length: 4096}, {Op: Read, Offset: 12288, Length: 4096}, {Op: Read, Offset: 4096, Length: 4096},
		{Op: Flush}, {Op: Flush},
	}
	if diff := cmp.Diff(want, m.asked); diff != "" {
		t.Error(diff)
	}
}

// Commands that must fail, with the sense that the standard names.
func TestSCSIErrors(t *testing.T) {
	f, m := scsiFront(t, spinning)
	for _, tt := range []struct {
		name  string
		cdb   []byte
		out   []byte
		in    int
		sense [3]byte
	}{
		{"unknown command", []byte{0xee}, nil, 0, [3]byte{5, 0x20, 0}},
		{"write same", cdb16(0x93, 0, 0, 8), make([]byte, 512), 0, [3]byte{5, 0x20, 0}},
		{"unknown page", []byte{opInquiry, 1, 0xc0, 0, 96, 0}, nil, 96, [3]byte{5, 0x24, 0}},
		{"unknown mode page", []byte{opModeSense6, 0, 0x1c, 0, 96, 0}, nil, 96, [3]byte{5, 0x24, 0}},
		{"behind the end", cdb10(opRead10, 0, 2041, 8), nil, 4096, [3]byte{5, 0x21, 0}},
		{"far behind", cdb16(opRead16, 0, 1<<64-8, 8), nil, 4096, [3]byte{5, 0x21, 0}},
		{"huge", cdb16(opRead16, 0, 0, 1<<32-1), nil, 4096, [3]byte{5, 0x21, 0}},
	} {
		response, status, sense, _ := f.scsiAsk(0, tt.cdb, tt.out, tt.in)
		if response != scsiOK || status != statusCheck || sense != tt.sense {
			t.Errorf("%s: response %d, status %d, sense %x, want %x", tt.name, response, status, sense, tt.sense)
		}
	}
	if response, _, _, _ := f.scsiAsk(0, cdb10(opRead10, 0, 0, 16), nil, 4096); response != scsiOverrun {
		t.Errorf("more data than room: response %d", response)
	}
	if response, _, _, _ := f.scsiAsk(3, []byte{opInquiry, 0, 0, 0, 96, 0}, nil, 96); response != scsiBadTarget {
		t.Errorf("another unit: response %d", response)
	}
	if len(m.asked) != 0 {
		t.Errorf("the disk was asked %v", m.asked)
	}
	m.fail = errors.New("broken")
	if _, status, sense, _ := f.scsiAsk(0, cdb10(opRead10, 0, 0, 8), nil, 4096); status != statusCheck || sense[0] != 4 {
		t.Errorf("a broken disk: status %d, sense %x", status, sense)
	}
	// An abort is refused: the command is done when it is done.
	if got := f.ask(0, false, [][]byte{make([]byte, 24)}, 1); got[0] != scsiTaskRejected {
		t.Errorf("abort: %x", got)
	}
}
