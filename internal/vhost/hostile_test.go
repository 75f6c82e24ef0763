package vhost

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Rings that no honest driver makes: each is an error, none a crash or a loop.
func TestHostileRings(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(f *front, ring uint64)
		want string
	}{
		{"loop", func(f *front, ring uint64) {
			f.desc(ring, 0, guestBase, 16, descNext, 0)
			f.offer(0, 0)
		}, "more than 1024 descriptors"},
		{"head outside", func(f *front, ring uint64) { f.offer(0, 400) }, "descriptor 400 of 16"},
		{"next outside", func(f *front, ring uint64) {
			f.desc(ring, 0, guestBase, 16, descNext, 999)
			f.offer(0, 0)
		}, "descriptor 999 of 16"},
		{"no memory", func(f *front, ring uint64) {
			f.desc(ring, 0, 0x10, 16, 0, 0)
			f.offer(0, 0)
		}, "16 bytes at 0x10 are not memory that the guest shares"},
		{"across the end", func(f *front, ring uint64) {
			f.desc(ring, 0, guestBase+memSize-8, 16, 0, 0)
			f.offer(0, 0)
		}, "are not memory"},
		{"address wraps", func(f *front, ring uint64) {
			f.desc(ring, 0, 1<<64-8, 16, 0, 0)
			f.offer(0, 0)
		}, "are not memory"},
		{"huge", func(f *front, ring uint64) {
			f.desc(ring, 0, guestBase, 1<<32-1, 0, 0)
			f.offer(0, 0)
		}, "are not memory"},
		{"table in a table", func(f *front, ring uint64) {
			f.desc(0, 0, guestBase, 16, descIndirect, 0)
			f.desc(ring, 0, guestBase, 16, descIndirect, 0)
			f.offer(0, 0)
		}, "misplaced table"},
		{"half a table", func(f *front, ring uint64) {
			f.desc(ring, 0, guestBase, 17, descIndirect, 0)
			f.offer(0, 0)
		}, "misplaced table"},
		{"out after in", func(f *front, ring uint64) {
			f.desc(ring, 0, guestBase, 16, descNext|descWrite, 1)
			f.desc(ring, 1, guestBase, 16, 0, 0)
			f.offer(0, 0)
		}, "a part to read after one to write"},
		{"too many", func(f *front, ring uint64) {
			binary.LittleEndian.PutUint16(f.mem[ring+1024+2:], 1000)
		}, "1000 requests in a ring of 16"},
		{"no status", func(f *front, ring uint64) {
			f.desc(ring, 0, guestBase, 16, 0, 0)
			f.offer(0, 0)
		}, "without header or room"},
		{"no header", func(f *front, ring uint64) {
			f.desc(ring, 0, guestBase, 1, descWrite, 0)
			f.offer(0, 0)
		}, "without header or room"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &memoryDisk{content: make([]byte, 1<<20)}
			f := newFront(t, mustBlock(t, Disk{Size: 1 << 20, Serial: "d0", Backend: m}))
			f.connect()
			tt.make(f, f.rings[0])
			if err := f.kick(0); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if len(m.asked) != 0 {
				t.Errorf("the disk was asked %v", m.asked)
			}
		})
	}
}

// Messages that no honest machine sends.
func TestHostileMessages(t *testing.T) {
	for _, tt := range []struct {
		name    string
		request uint32
		payload []byte
		files   bool
	}{
		{"unknown", 77, nil, false},
		{"ring 9", setVringNum, u32s(9, 16), false},
		{"ring of 17", setVringNum, u32s(0, 17), false},
		{"ring of nothing", setVringNum, u32s(0, 0), false},
		{"short", setVringNum, []byte{0}, false},
		{"ring outside", setVringAddr, append(u32s(0, 0), u64s(0, 0, 0, 0)...), false},
		{"ring not aligned", setVringAddr, append(u32s(0, 0), u64s(userBase+1, userBase, userBase, 0)...), false},
		{"ring at the end", setVringAddr, append(u32s(0, 0), u64s(userBase+memSize-16, userBase, userBase, 0)...), false},
		{"features not offered", setFeatures, u64s(1 << 55), false},
		{"memory without files", setMemTable, append(u32s(1, 0), u64s(0, 4096, 0, 0)...), false},
		{"memory longer than its file", setMemTable, append(u32s(1, 0), u64s(0, memSize+1, 0, 0)...), true},
		{"memory behind its file", setMemTable, append(u32s(1, 0), u64s(0, 4096, 0, 1<<40)...), true},
		{"memory that wraps", setMemTable, append(u32s(1, 0), u64s(0, 1<<63, 0, 1<<63)...), true},
		{"memory, cut short", setMemTable, u32s(1, 0, 0), true},
		{"channel without a file", setBackendReqFd, nil, false},
		{"configuration written", setConfig, append(u32s(0, 4096, 0), 1), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFront(t, mustBlock(t, Disk{Size: 1 << 20, Serial: "d0", Backend: &memoryDisk{content: make([]byte, 1<<20)}}))
			f.connect()
			var files []int
			if tt.files {
				files = []int{f.memfd}
			}
			if _, err := f.send(tt.request, tt.payload, files...); err == nil {
				t.Error("it was taken")
			}
		})
	}
}

// A machine that takes its memory away after sharing it.
func TestMemoryGone(t *testing.T) {
	f := newFront(t, mustBlock(t, Disk{Size: 1 << 20, Serial: "d0", Backend: &memoryDisk{content: make([]byte, 1<<20)}}))
	f.connect()
	f.place(0, false, [][]byte{blockRequest(blkIn, 0)}, []int{4096, 1})
	GuardMemory()
	unix.Ftruncate(f.memfd, 0)
	var fault interface{ Addr() uintptr }
	if err := f.kick(0); !errors.As(err, &fault) {
		t.Errorf("error %v, want a fault", err)
	}
}

func FuzzHeader(f *testing.F) {
	f.Add(header{setMemTable, flagVersion | flagNeedReply, 72}.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := parseHeader(b); err == nil && string(h.append(nil)) != string(b) {
			t.Errorf("%x reads as %+v", b, h)
		}
	})
}

// FuzzMessages says anything at all to a connection that is set up.
func FuzzMessages(f *testing.F) {
	f.Add(append(header{setVringNum, flagVersion, 8}.append(nil), u32s(0, 16)...))
	f.Add(append(header{getConfig, flagVersion, 12}.append(nil), u32s(0, 60, 0)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 32<<10 {
			return
		}
		x := newFront(t, mustBlock(t, Disk{Size: 1 << 20, Serial: "d0", Backend: &memoryDisk{content: make([]byte, 1<<20)}}))
		x.connect()
		unix.Write(x.sock, b)
		unix.Shutdown(x.sock, unix.SHUT_WR)
		for x.conn.Handle() == nil {
		}
	})
}

// FuzzRing fills ring and descriptors with anything.
func FuzzRing(f *testing.F) {
	good := make([]byte, 64)
	binary.LittleEndian.PutUint64(good, guestBase+0x2000)
	binary.LittleEndian.PutUint32(good[8:], 16)
	binary.LittleEndian.PutUint16(good[12:], descNext)
	binary.LittleEndian.PutUint16(good[14:], 1)
	binary.LittleEndian.PutUint64(good[16:], guestBase+0x3000)
	binary.LittleEndian.PutUint32(good[24:], 513)
	binary.LittleEndian.PutUint16(good[28:], descWrite)
	f.Add(good, blockRequest(blkIn, 0), uint16(1), true)
	f.Add(good, blockRequest(blkIn, 0), uint16(1), false)
	f.Fuzz(func(t *testing.T, descs, request []byte, idx uint16, scsi bool) {
		m := &memoryDisk{content: make([]byte, 1<<20)}
		d := Disk{Size: 1 << 20, Serial: "d0", Backend: m}
		dev, queue := mustBlock(t, d), 0
		if scsi {
			dev, queue = mustSCSI(t, d), 2
		}
		x := newFront(t, dev)
		x.connect()
		copy(x.mem[x.rings[queue]:][:256], descs)
		copy(x.mem[0x2000:][:4096], request)
		binary.LittleEndian.PutUint16(x.mem[x.rings[queue]+1024+2:], idx)
		x.send(vringKick, u32s(uint32(queue), 0))
		for _, r := range m.asked {
			if r.Offset < 0 || r.Length < 0 || r.Offset+r.Length > d.Size {
				t.Errorf("the disk was asked %+v", r)
			}
		}
	})
}

// FuzzSCSI sends any command block.
func FuzzSCSI(f *testing.F) {
	for _, b := range [][]byte{cdb10(opRead10, 0, 0, 8), cdb16(opWrite16, 8, 0, 8), {opInquiry, 1, 0x83, 0, 96}, {opModeSense6, 0, 0x3f, 0, 96}} {
		f.Add(b, 4096)
	}
	f.Fuzz(func(t *testing.T, cdb []byte, room int) {
		if len(cdb) > scsiCDB || room < 0 || room > 1<<16 {
			return
		}
		x, m := scsiFront(t, spinning)
		x.scsiAsk(0, cdb, nil, room)
		x.scsiAsk(0, cdb, make([]byte, room+1), 0)
		for _, r := range m.asked {
			if r.Offset < 0 || r.Length < 0 || r.Offset+r.Length > spinning.Size {
				t.Errorf("the disk was asked %+v", r)
			}
		}
	})
}
