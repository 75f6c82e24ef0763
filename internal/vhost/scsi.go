package vhost

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Sizes and answers of virtio-scsi (VIRTIO 1.2, 5.6).
const (
	scsiCDB    = 32
	scsiHeader = 19 + scsiCDB
	scsiSense  = 96
	scsiReply  = 12 + scsiSense

	scsiOK             = 0
	scsiOverrun        = 1
	scsiBadTarget      = 3
	scsiTaskRejected   = 11
	controlQueue       = 0
	eventQueue         = 1
	taskManagement     = 0
	statusCheck        = 2
	mostSectorsPerSCSI = 0xffff
)

// scsi is one SCSI disk, target 0 and unit 0 of a virtio-scsi host.
type scsi struct{ Disk }

// SCSI makes a virtio-scsi host with a disk on it.
func SCSI(d Disk) (Device, error) {
	if err := d.validate(); err != nil {
		return nil, fmt.Errorf("make SCSI disk: %w", err)
	}
	return scsi{d}, nil
}

func (scsi) features() uint64 { return 0 }
func (scsi) queues() int      { return 3 }

// config is struct virtio_scsi_config.
func (s scsi) config() []byte {
	depth := s.QueueDepth
	if depth == 0 {
		depth = mostSegments
	}
	c := make([]byte, 36)
	for i, v := range []uint32{1, mostSegments, mostSectorsPerSCSI, uint32(depth), 16, scsiSense, scsiCDB} {
		binary.LittleEndian.PutUint32(c[4*i:], v)
	}
	return c // of channels, targets and units the last is 0
}

func (s scsi) take(q *queue, c chain) error {
	switch q.index {
	case controlQueue:
		return s.control(q, c)
	case eventQueue:
		return nil // nothing ever happens to this disk
	}
	head, out, ok := cut(c.out, scsiHeader)
	reply, in, ok2 := cut(c.in, scsiReply)
	if !ok || !ok2 {
		return errors.New("virtio-scsi request without header or room for its answer")
	}
	var h [scsiHeader]byte
	gather(h[:], head)
	t := &task{disk: s.Disk, cdb: [scsiCDB]byte(h[19:]), out: out, in: in}
	t.answer = func(code byte) {
		var r [scsiReply]byte
		binary.LittleEndian.PutUint32(r[0:], uint32(len(t.sense)))
		binary.LittleEndian.PutUint32(r[4:], t.residual)
		if len(t.sense) > 0 {
			r[10] = statusCheck
		}
		r[11] = code
		copy(r[12:], t.sense)
		scatter(reply, r[:])
		q.push(c.head, uint32(scsiReply+t.given))
	}
	// The address is of the single-level form, target in the second byte.
	if lun := binary.BigEndian.Uint16(h[2:]) & 0x3fff; h[0] != 1 || h[1] != 0 {
		t.answer(scsiBadTarget)
	} else if lun != 0 && t.cdb[0] != opReportLUNs {
		t.answer(scsiBadTarget)
	} else {
		t.run()
	}
	return nil
}

// control answers requests about tasks. There is nothing to abort: a command
// that the drive has is done when it is done.
func (scsi) control(q *queue, c chain) error {
	var h [4]byte
	room := 1
	if gather(h[:], c.out) < 4 {
		return errors.New("virtio-scsi control request without a type")
	}
	answer := []byte{scsiTaskRejected}
	if binary.LittleEndian.Uint32(h[:]) != taskManagement {
		room, answer = 5, []byte{0, 0, 0, 0, scsiOK} // no events will be reported
	}
	if size(c.in) < int64(room) {
		return errors.New("virtio-scsi control request without room for its answer")
	}
	q.push(c.head, uint32(scatter(c.in, answer)))
	return nil
}

// task is one SCSI command under way.
type task struct {
	disk     Disk
	cdb      [scsiCDB]byte
	out, in  [][]byte
	answer   func(code byte)
	sense    []byte
	given    int64  // bytes put into in
	residual uint32 // bytes of in or out that were not used
}

// fail answers with sense data of the fixed form (SPC-4, 4.5.3).
func (t *task) fail(key, code, qualifier byte) {
	t.sense = make([]byte, 18)
	t.sense[0], t.sense[2], t.sense[7], t.sense[12], t.sense[13] = 0x70, key, 10, code, qualifier
	t.answer(scsiOK)
}

// Sense keys, and what is wrong.
func (t *task) badOpcode() { t.fail(5, 0x20, 0) }
func (t *task) badField()  { t.fail(5, 0x24, 0) }
func (t *task) badRange()  { t.fail(5, 0x21, 0) }
func (t *task) protected() { t.fail(7, 0x27, 0) }
func (t *task) broken()    { t.fail(4, 0x44, 0) } // hardware error, internal target failure

// give answers with data, as much of it as the host asked for.
func (t *task) give(data []byte, allocated int) {
	data = data[:min(len(data), allocated)]
	t.given = int64(scatter(t.in, data))
	t.residual = uint32(min(size(t.in)-t.given, 1<<31))
	t.answer(scsiOK)
}

// transfer begins a read or a write.
func (t *task) transfer(op Op, lba, blocks uint64, fua bool) {
	length := int64(blocks) * SectorSize
	data := t.in
	if op == Write {
		data = t.out
	}
	switch {
	case !t.disk.within(lba, blocks):
		t.badRange()
		return
	case op == Write && t.disk.ReadOnly:
		t.protected()
		return
	case blocks == 0:
		t.answer(scsiOK)
		return
	case size(data) < length:
		t.answer(scsiOverrun)
		return
	}
	t.residual = uint32(min(size(data)-length, 1<<31))
	data, _, _ = cut(data, int(length))
	r := &Request{Op: op, Offset: int64(lba) * SectorSize, Length: length, FUA: fua && op == Write, Data: data}
	t.disk.Backend.Submit(r, func(err error) {
		if err != nil {
			t.broken()
			return
		}
		if op == Read {
			t.given = length
		}
		t.answer(scsiOK)
	})
}

func (t *task) flush() {
	t.disk.Backend.Submit(&Request{Op: Flush}, func(err error) {
		if err != nil {
			t.broken()
			return
		}
		t.answer(scsiOK)
	})
}
