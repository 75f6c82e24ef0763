package drive

import (
	"fmt"
	"strings"
	"time"

	"spindle/internal/unit"
	"spindle/pipeline/drive/disk"
	"spindle/pipeline/drive/timing"
)

// Device is what the guest is to see of a drive.
type Device struct {
	Size       unit.Size
	Bus        Bus
	Rotation   int // rpm; 0 for a drive without timing
	QueueDepth int
	WriteCache bool // volatile, write back
}

// Device resolves the defaults of s.
func (s Spec) Device() (Device, error) {
	r, err := s.resolve()
	if err != nil {
		return Device{}, err
	}
	d := Device{Size: r.Size, Bus: r.Bus, QueueDepth: r.QueueDepth, WriteCache: r.writeCache}
	if r.disk != nil {
		d.Rotation = int(r.disk.RPM + 0.5)
	}
	return d, nil
}

// Model makes the timing model of s at the start of its time; nil for a drive
// without timing. The seed decides what varies from one drive to the next.
func (s Spec) Model(seed uint64) (timing.Model, error) {
	r, err := s.resolve()
	if err != nil || r.disk == nil {
		return nil, err
	}
	return r.model(seed)
}

func (r resolved) model(seed uint64) (timing.Model, error) {
	return disk.New(*r.disk, disk.Options{QueueDepth: r.QueueDepth, WriteCache: r.writeCache, Seed: seed})
}

// SequentialRate is what a long sequential transfer at the start of the drive
// gets, by arithmetic and not by simulation. It is 0 for a drive without timing
// and for a Spec that is not valid.
func (s Spec) SequentialRate() unit.Rate {
	if r, err := s.resolve(); err == nil && r.disk != nil {
		return r.disk.SequentialRate()
	}
	return 0
}

// RandomReadMean4K is the mean time of one 4 KiB read at a random place of what
// is presented, one at a time, without cache hits, by arithmetic and not by
// simulation. It is 0 for a drive without timing and for a Spec that is not
// valid.
func (s Spec) RandomReadMean4K() time.Duration {
	if r, err := s.resolve(); err == nil && r.disk != nil {
		return r.disk.RandomRead(r.Size, 4<<10)
	}
	return 0
}

// Describe is one line for a report: what the drive is, and what it should do.
func (s Spec) Describe() string {
	r, err := s.resolve()
	if err != nil {
		return s.Profile + " (not valid)"
	}
	parts := []string{fmt.Sprintf("%s (%s)", r.Profile, r.title)}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	add("%s", r.Bus)
	add("%.4g GB", float64(r.Size)/1e9)
	if r.disk == nil {
		return strings.Join(parts, ", ")
	}
	if r.Size < r.disk.Capacity/alignment*alignment {
		parts[len(parts)-1] = fmt.Sprintf("the first %.4g of %.4g GB", float64(r.Size)/1e9, float64(r.disk.Capacity)/1e9)
	}
	add("%.0f rpm", r.disk.RPM)
	add("queue depth %d", r.QueueDepth)
	if r.writeCache {
		add("write-back cache %s", r.disk.WriteCache.Size)
	} else {
		add("write through")
	}
	rate := fmt.Sprintf("sequential %.1f MB/s", float64(r.disk.SequentialRate())/1e6)
	if r.rescaled != 0 {
		rate += fmt.Sprintf(" (rescaled from %.1f)", float64(r.rescaled)/1e6)
	}
	parts = append(parts, rate)
	add("random 4 KiB read %.1f ms", s.RandomReadMean4K().Seconds()*1e3)
	return strings.Join(parts, ", ")
}
