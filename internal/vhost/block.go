package vhost

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Features of virtio-blk (VIRTIO 1.2, 5.2.3).
const (
	blkSegMax    = 1 << 2
	blkReadOnly  = 1 << 5
	blkBlockSize = 1 << 6
	blkFlush     = 1 << 9
)

// Types of its requests, and what it answers (5.2.6).
const (
	blkIn     = 0
	blkOut    = 1
	blkSync   = 4
	blkSerial = 8

	blkOK          = 0
	blkIOError     = 1
	blkUnsupported = 2

	blkHeader = 16
)

// block is a virtio-blk disk.
type block struct{ Disk }

// Block makes a virtio-blk device of a disk.
func Block(d Disk) (Device, error) {
	if err := d.validate(); err != nil {
		return nil, fmt.Errorf("make virtio-blk disk: %w", err)
	}
	return block{d}, nil
}

func (b block) features() uint64 {
	f := uint64(blkSegMax | blkBlockSize)
	if b.ReadOnly {
		f |= blkReadOnly
	}
	if b.WriteCache {
		f |= blkFlush
	}
	return f
}

func (block) queues() int { return 1 }

// config is struct virtio_blk_config up to the size of a block.
func (b block) config() []byte {
	c := make([]byte, 60)
	binary.LittleEndian.PutUint64(c, uint64(b.Size)/SectorSize)
	binary.LittleEndian.PutUint32(c[12:], mostSegments)
	binary.LittleEndian.PutUint32(c[20:], SectorSize)
	return c
}

func (b block) take(q *queue, c chain) error {
	head, out, ok := cut(c.out, blkHeader)
	space := size(c.in)
	if !ok || space < 1 {
		return errors.New("virtio-blk request without header or room for its status")
	}
	var h [blkHeader]byte
	gather(h[:], head)
	in, status, _ := cut(c.in, int(space-1))
	answer := func(code byte, data int64) {
		status[0][0] = code
		q.push(c.head, uint32(data+1))
	}
	r := &Request{}
	switch binary.LittleEndian.Uint32(h[:]) {
	case blkIn:
		r.Op, r.Data, r.Length = Read, in, space-1
	case blkOut:
		r.Op, r.Data, r.Length = Write, out, size(out)
		if b.ReadOnly {
			answer(blkIOError, 0)
			return nil
		}
	case blkSync:
		r.Op = Flush
	case blkSerial:
		var id [20]byte // padded with zeros
		copy(id[:], b.Serial)
		answer(blkOK, int64(scatter(in, id[:])))
		return nil
	default:
		answer(blkUnsupported, 0)
		return nil
	}
	if r.Op != Flush {
		sector := binary.LittleEndian.Uint64(h[8:])
		if r.Length == 0 || r.Length%SectorSize != 0 || !b.within(sector, uint64(r.Length)/SectorSize) {
			answer(blkIOError, 0)
			return nil
		}
		r.Offset = int64(sector) * SectorSize
	}
	b.Backend.Submit(r, func(err error) {
		switch {
		case err != nil:
			answer(blkIOError, 0)
		case r.Op == Read:
			answer(blkOK, r.Length)
		default:
			answer(blkOK, 0)
		}
	})
	return nil
}
