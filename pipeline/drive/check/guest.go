package check

import (
	"fmt"
	"math/rand/v2"
	"time"

	"spindle/internal/unit"
	"spindle/pipeline/drive"
	"spindle/pipeline/drive/timing"
)

// guestDepth is how many requests QEMU's NBD client passes on at a time.
const guestDepth = 16

// usbBlock is what a guest asks of USB storage in one piece (240 sectors,
// drivers/usb/storage/scsiglue.c): more would be requests that the model was not
// asked about, and less would count the emulated bus more often than a stream
// does.
const usbBlock = 120 * unit.KiB

// GuestBound is what the error in an emulated guest may be at depth 1.
const GuestBound = 0.06

// GuestLoads gives the loads for a guest with the drive.
func GuestLoads(s drive.Spec) ([]Load, error) {
	dev, err := s.Device()
	if err != nil {
		return nil, err
	}
	list := loads(min(dev.QueueDepth, guestDepth))
	for i := range list {
		if list[i].Bytes && dev.Bus == drive.USB {
			list[i].Block = usbBlock
		}
	}
	return list, nil
}

// Asked is what the model does with the very requests that a guest sent, in
// virtual time: requests a second. Which blocks chance had fio ask for in a few
// seconds makes 2 percent and more. It is 0 where the guest's kernel cut the
// load's requests up or put them together, as then it was not the load's depth
// that the drive had.
func Asked(s drive.Spec, j Load, seen []timing.Request, seed uint64) (float64, error) {
	count, sectors := moves(seen)
	if count == 0 || sectors*timing.SectorSize != int64(count)*int64(j.Block) {
		return 0, nil
	}
	m, err := s.Model(seed)
	if err != nil {
		return 0, err
	}
	took, err := replay(m, seen, j.Depth)
	if err != nil || took <= 0 {
		return 0, err
	}
	return float64(count) / took.Seconds(), nil
}

// Expect is what the model does under a load in virtual time, for as long as the
// load runs: requests a second, and bytes a second. The requests are of the
// load's kind, not those that a guest sends; see [Asked].
func Expect(s drive.Spec, j Load, seconds time.Duration, seed uint64) (perSecond float64, rate unit.Rate, err error) {
	dev, err := s.Device()
	if err != nil {
		return 0, 0, err
	}
	m, err := s.Model(seed)
	if err != nil {
		return 0, 0, err
	}
	if m == nil {
		return 0, 0, fmt.Errorf("expect of drive %s: it has no timing", s.Profile)
	}
	next := j.stream(dev.Size, seed)
	var now time.Duration
	inside, moved := 0, 0
	for id := uint64(1); now < seconds || inside > 0; {
		for now < seconds && inside < j.Depth {
			r := next()
			r.ID = id
			id++
			m.Arrive(now, r)
			inside++
			if r.Op != timing.Flush {
				moved++
			}
		}
		due, ok := m.Next()
		if !ok {
			return 0, 0, fmt.Errorf("expect of drive %s: the model stands still", s.Profile)
		}
		now = max(now, due)
		inside -= len(m.Advance(now))
	}
	perSecond = float64(moved) / now.Seconds()
	return perSecond, unit.Rate(perSecond * float64(j.Block)), nil
}

// stream makes requests of the load's kind.
func (j Load) stream(size unit.Size, seed uint64) func() timing.Request {
	offset, length := j.Range(size)
	rng := rand.New(rand.NewPCG(seed, 0x636865636b))
	blocks := int64(length / j.Block)
	at := int64(-1)
	flush := false
	return func() timing.Request {
		if flush {
			flush = false
			return timing.Request{Op: timing.Flush}
		}
		r := timing.Request{Sectors: int64(j.Block) / timing.SectorSize}
		switch j.RW {
		case "read", "write":
			at = (at + 1) % blocks
		default:
			at = rng.Int64N(blocks)
		}
		switch {
		case j.RW == "write" || j.RW == "randwrite", j.RW == "randrw" && rng.IntN(2) == 0:
			r.Op = timing.Write
		}
		flush = j.Fsync
		r.LBA = (int64(offset) + at*int64(j.Block)) / timing.SectorSize
		return r
	}
}

// GuestRow is the row of a load that ran in a guest.
func GuestRow(s drive.Spec, j Load, perSecond, measured float64) Row {
	row := Row{Load: j.Name, Depth: j.Depth, Unit: "/s", Model: perSecond, Measured: measured}
	if j.Bytes {
		row.Unit, row.Model, row.Measured = "MB/s", perSecond*float64(j.Block)/1e6, measured*float64(j.Block)/1e6
	}
	row.Error = row.Measured/row.Model - 1
	if j.Depth == 1 {
		row.Bound = GuestBound
	}
	return row
}
