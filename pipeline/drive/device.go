package drive

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"spindle/internal/unit"
	"spindle/pipeline/drive/disk"
	"spindle/pipeline/drive/link"
	"spindle/pipeline/drive/raid"
	"spindle/pipeline/drive/ssd"
	"spindle/pipeline/drive/timing"
)

// Device is what the guest is to see of a drive.
type Device struct {
	Size       unit.Size
	Capacity   unit.Size // of all of the modelled drive, whose start is presented
	Bus        Bus
	Rotation   int // rpm; 1 for a solid-state drive, as ATA has it; 0 for a drive without timing
	QueueDepth int
	WriteCache bool // the drive acknowledges writes before they are on the media
	Fails      bool // it is to fail requests, which are for the guest to see
}

// Device resolves the defaults of s.
func (s Spec) Device() (Device, error) {
	r, err := s.resolve()
	if err != nil {
		return Device{}, err
	}
	d := Device{Size: r.Size, Capacity: r.capacity, Bus: r.Bus, QueueDepth: r.QueueDepth, WriteCache: r.writeCache || r.controller.Controller.Cache > 0}
	d.Fails = slices.ContainsFunc(r.Faults, func(f Fault) bool { return f.EIO != nil || f.ReadOnly != nil || f.PowerCut != nil })
	switch {
	case r.Disk != nil:
		d.Rotation = int(r.Disk.RPM + 0.5)
	case r.SSD != nil:
		d.Rotation = 1
	}
	return d, nil
}

// Model makes the timing model of s at the start of its time, its faults
// included; nil for a drive without timing. The seed decides what varies from
// one drive to the next.
func (s Spec) Model(seed uint64) (timing.Model, error) {
	r, err := s.resolve()
	if err != nil || !r.timed() {
		return nil, err
	}
	return r.model(seed)
}

func (r resolved) model(seed uint64) (timing.Model, error) {
	m, err := r.bare(seed)
	if err != nil {
		return nil, err
	}
	if d := newDisturbed(m, r.Faults); d != nil {
		return d, nil
	}
	return m, nil
}

// bare is the model without faults.
func (r resolved) bare(seed uint64) (timing.Model, error) {
	if !r.array {
		return r.single(seed, r.QueueDepth, 0)
	}
	rng := rand.New(rand.NewPCG(seed, 0x72616964))
	var members []timing.Model
	for range r.Count {
		m, err := r.single(rng.Uint64(), r.maxDepth(), rng.Float64())
		if err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	c := r.config()
	c.Controller.Depth = r.QueueDepth
	return raid.New(c, members)
}

// single is one drive.
func (r resolved) single(seed uint64, depth int, phase float64) (m timing.Model, err error) {
	if r.Disk != nil {
		m, err = disk.New(*r.Disk, disk.Options{QueueDepth: depth, WriteCache: r.writeCache, Seed: seed, Phase: phase})
	} else {
		m, err = ssd.New(*r.SSD, ssd.Options{QueueDepth: depth, WriteCache: r.writeCache, Seed: seed})
	}
	if err == nil && r.USB != nil {
		m = link.New(*r.USB, m)
	}
	return m, err
}

// SequentialRate is what a long sequential transfer at the start of the drive
// gets, by arithmetic and not by simulation. It is 0 for a drive without timing
// and for a Spec that is not valid.
func (s Spec) SequentialRate() unit.Rate {
	r, err := s.resolve()
	if err != nil || !r.timed() {
		return 0
	}
	if !r.array {
		return r.rate()
	}
	return min(r.rate()*unit.Rate(r.RAID.Data(r.Count)), r.controller.Controller.Link)
}

// RandomReadMean4K is the mean time of one 4 KiB read at a random place of what
// is presented, one at a time, without cache hits, by arithmetic and not by
// simulation. It is 0 for a drive without timing and for a Spec that is not
// valid.
func (s Spec) RandomReadMean4K() time.Duration {
	const length = 4 << 10
	r, err := s.resolve()
	if err != nil || !r.timed() {
		return 0
	}
	size, more := r.Size, time.Duration(0)
	if r.array {
		// The first bytes of the array are the first of each member.
		size /= unit.Size(r.RAID.Data(r.Count))
		c := r.controller.Controller
		more = c.Read.Std() + c.Latency.Std() + time.Duration(length/float64(c.Link)*float64(time.Second))
	}
	if r.USB != nil {
		more += r.USB.Takes(timing.Read, length)
	}
	if r.Disk != nil {
		return r.Disk.RandomRead(size, length) + more
	}
	return r.SSD.RandomRead(length) + more
}

// Describe is one line for a report: what the drive is, and what it should do.
func (s Spec) Describe() string {
	r, err := s.resolve()
	if err != nil {
		return s.Profile + " (not valid)"
	}
	switch {
	case s.OfHost():
		return fmt.Sprintf("%s of this host (%s), %s", s.Passthrough, s.Destroy, r.Bus)
	case r.MD != nil:
		return s.describeMD(r.MD)
	}
	parts := []string{fmt.Sprintf("%s (%s)", r.Profile, r.Title)}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if r.array {
		parts[0] = fmt.Sprintf("RAID %s of %d %s", r.RAID, r.Count, parts[0])
		add("stripe unit %s", r.Stripe)
		add("%s", r.controller.Title)
	}
	add("%s", r.Bus)
	add("%.4g GB", float64(r.Size)/1e9)
	if !r.timed() {
		return strings.Join(parts, ", ")
	}
	if r.Size < r.capacity/alignment*alignment {
		parts[len(parts)-1] = fmt.Sprintf("the first %.4g of %.4g GB", float64(r.Size)/1e9, float64(r.capacity)/1e9)
	}
	if r.Disk != nil {
		add("%.0f rpm", r.Disk.RPM)
	}
	add("queue depth %d", r.QueueDepth)
	size, _ := r.cache()
	switch {
	case r.controller.Controller.Cache > 0:
		add("controller cache %s, non-volatile", r.controller.Controller.Cache)
	case r.writeCache && r.safe():
		add("write-back cache %s, non-volatile", size)
	case r.writeCache:
		add("write-back cache %s", size)
	default:
		add("write through")
	}
	rate := fmt.Sprintf("sequential %.1f MB/s", float64(s.SequentialRate())/1e6)
	if r.rescaled != 0 {
		rate += fmt.Sprintf(" (rescaled from %.1f)", float64(r.rescaled)/1e6)
	}
	parts = append(parts, rate)
	if t := s.RandomReadMean4K(); t >= time.Millisecond {
		add("random 4 KiB read %.1f ms", t.Seconds()*1e3)
	} else {
		add("random 4 KiB read %.3f ms", t.Seconds()*1e3)
	}
	for _, f := range r.Faults {
		add("fault: %s", f)
	}
	if r.Note != "" {
		add("%s", r.Note)
	}
	return strings.Join(parts, ", ")
}
