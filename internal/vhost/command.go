package vhost

import (
	"encoding/binary"
)

// Operation codes (SPC-4 and SBC-3).
const (
	opTestUnitReady = 0x00
	opRequestSense  = 0x03
	opRead6         = 0x08
	opWrite6        = 0x0a
	opInquiry       = 0x12
	opModeSense6    = 0x1a
	opStartStop     = 0x1b
	opReadCapacity  = 0x25
	opRead10        = 0x28
	opWrite10       = 0x2a
	opSyncCache10   = 0x35
	opModeSense10   = 0x5a
	opRead16        = 0x88
	opWrite16       = 0x8a
	opSyncCache16   = 0x91
	opServiceIn16   = 0x9e
	opReportLUNs    = 0xa0
	opRead12        = 0xa8
	opWrite12       = 0xaa

	serviceReadCapacity16 = 0x10
)

// run does what the command says.
func (t *task) run() {
	b := t.cdb[:]
	u16 := func(at int) uint64 { return uint64(binary.BigEndian.Uint16(b[at:])) }
	u32 := func(at int) uint64 { return uint64(binary.BigEndian.Uint32(b[at:])) }
	u64 := func(at int) uint64 { return binary.BigEndian.Uint64(b[at:]) }
	fua := b[1]&8 != 0
	switch b[0] {
	case opTestUnitReady, opStartStop:
		t.answer(scsiOK)
	case opRequestSense:
		none := make([]byte, 18)
		none[0], none[7] = 0x70, 10
		t.give(none, int(b[4]))
	case opInquiry:
		t.inquiry(b[1]&1 != 0, b[2], int(u16(3)))
	case opModeSense6:
		t.modeSense(b[2], 4, int(b[4]))
	case opModeSense10:
		t.modeSense(b[2], 8, int(u16(7)))
	case opReportLUNs:
		list := make([]byte, 16) // of one unit, number 0
		list[3] = 8
		t.give(list, int(min(u32(6), 1<<20)))
	case opReadCapacity:
		c := make([]byte, 8)
		binary.BigEndian.PutUint32(c, uint32(min(t.sectors()-1, 1<<32-1)))
		binary.BigEndian.PutUint32(c[4:], SectorSize)
		t.give(c, len(c))
	case opServiceIn16:
		if b[1]&0x1f != serviceReadCapacity16 {
			t.badField()
			return
		}
		c := make([]byte, 32)
		binary.BigEndian.PutUint64(c, t.sectors()-1)
		binary.BigEndian.PutUint32(c[8:], SectorSize)
		t.give(c, int(min(u32(10), 1<<20)))
	case opRead6, opWrite6:
		op, n := Read, uint64(b[4])
		if b[0] == opWrite6 {
			op = Write
		}
		if n == 0 {
			n = 256
		}
		t.transfer(op, u32(0)&0x1fffff, n, false)
	case opRead10:
		t.transfer(Read, u32(2), u16(7), fua)
	case opWrite10:
		t.transfer(Write, u32(2), u16(7), fua)
	case opRead12:
		t.transfer(Read, u32(2), u32(6), fua)
	case opWrite12:
		t.transfer(Write, u32(2), u32(6), fua)
	case opRead16:
		t.transfer(Read, u64(2), u32(10), fua)
	case opWrite16:
		t.transfer(Write, u64(2), u32(10), fua)
	case opSyncCache10, opSyncCache16:
		t.flush() // of everything: a range is allowed to be taken for all
	default:
		t.badOpcode()
	}
}

func (t *task) sectors() uint64 { return uint64(t.disk.Size) / SectorSize }

// inquiry answers who the disk is. Vital product data gives its serial, and
// that it rotates.
func (t *task) inquiry(vital bool, page byte, allocated int) {
	if !vital {
		if page != 0 {
			t.badField()
			return
		}
		d := make([]byte, 36)
		d[2], d[3], d[4], d[7] = 5, 2, 31, 2 // SPC-3; the usual form; queues commands
		copy(d[8:], "SPINDLE ")
		copy(d[16:], "modelled disk   ")
		copy(d[32:], "1   ")
		t.give(d, allocated)
		return
	}
	var d []byte
	switch page {
	case 0x00:
		d = []byte{0x00, 0x80, 0x83, 0xb0, 0xb1}
	case 0x80:
		d = []byte(t.disk.Serial)
	case 0x83: // a designator by vendor, in ASCII
		id := "SPINDLE " + t.disk.Serial
		d = append([]byte{2, 1, 0, byte(len(id))}, id...)
	case 0xb0: // block limits: none but the length of the page
		d = make([]byte, 60)
	case 0xb1: // characteristics
		d = make([]byte, 60)
		binary.BigEndian.PutUint16(d, uint16(t.disk.Rotation))
	default:
		t.badField()
		return
	}
	h := []byte{0, page, byte(len(d) >> 8), byte(len(d))}
	t.give(append(h, d...), allocated)
}

// modeSense answers about the cache: page 8 (SBC-3, 6.4.5). header is 4 bytes
// for the short form of the command, 8 for the long.
func (t *task) modeSense(pageControl byte, header, allocated int) {
	page, which := pageControl&0x3f, pageControl>>6
	if page != 0x08 && page != 0x3f || which == 3 {
		t.badField()
		return
	}
	d := make([]byte, header+20)
	d[header], d[header+1] = 0x08, 18
	if t.disk.WriteCache && which != 1 { // 1 asks what can be changed: nothing
		d[header+2] = 4 // WCE
	}
	var flags byte
	if t.disk.ReadOnly {
		flags |= 0x80
	}
	if t.disk.FUA {
		flags |= 0x10
	}
	if header == 4 {
		d[0], d[2] = byte(len(d)-1), flags
	} else {
		binary.BigEndian.PutUint16(d, uint16(len(d)-2))
		d[3] = flags
	}
	t.give(d, allocated)
}
