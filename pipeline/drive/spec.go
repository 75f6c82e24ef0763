package drive

import (
	"slices"
	"strings"

	"spindle/internal/fault"
	"spindle/internal/unit"
	"spindle/pipeline/drive/disk"
)

// Bus is how the guest reaches the drive.
type Bus string

const (
	AHCI       Bus = "ahci"        // SATA; the default
	VirtioSCSI Bus = "virtio-scsi" // a SCSI disk
	VirtioBlk  Bus = "virtio-blk"
	MegaSAS    Bus = "megasas" // a disk behind a MegaRAID controller
	USB        Bus = "usb"     // USB mass storage: one command at a time
	NVMe       Bus = "nvme"
)

var buses = []Bus{AHCI, VirtioSCSI, VirtioBlk, MegaSAS, USB, NVMe}

// Switch is "on", "off", or "" for the default.
type Switch string

// Spec is a drive as a plan describes it.
type Spec struct {
	// Profile names the kind of drive: see Profiles.
	Profile string `yaml:"profile"`
	// QueueDepth is how many commands the drive takes at a time: 1, or more for
	// one that reorders. 0 means what the profile has. QEMU's NBD client passes
	// on at most 16.
	QueueDepth int `yaml:"queue-depth,omitempty"`
	// Bus is ahci unless said otherwise.
	Bus Bus `yaml:"bus,omitempty"`
	// Size presents only the first bytes of the drive, its outermost part; the
	// geometry stays that of the whole. 0 means all of it.
	Size unit.Size `yaml:"size,omitempty"`
	// MediaRate rescales the rates of all zones so that the outermost sustained
	// rate becomes this one; seeks and rotation stay. 0 means the profile's.
	MediaRate unit.Rate `yaml:"media-rate,omitempty"`
	// WriteCache off makes the drive write through.
	WriteCache Switch `yaml:"write-cache,omitempty"`
}

// Validate checks s. Errors are faults of the plan.
func (s Spec) Validate() error {
	_, err := s.resolve()
	return err
}

// resolved is a Spec with its profile and all defaults.
type resolved struct {
	Spec
	title      string
	disk       *disk.Profile // rescaled; nil for a drive without timing
	rescaled   unit.Rate     // the sustained rate before that, if it was
	writeCache bool
}

// alignment is what sizes are a multiple of, so that no file system meets half
// a page at the end.
const alignment = 4096

func (s Spec) resolve() (resolved, error) {
	p, err := lookup(s.Profile)
	if err != nil {
		return resolved{}, fault.Planf("drive: %w", err)
	}
	r := resolved{Spec: s, title: p.Title}
	fail := func(format string, args ...any) (resolved, error) {
		return resolved{}, fault.Planf("drive %s: "+format, append([]any{s.Profile}, args...)...)
	}
	if r.Bus == "" {
		r.Bus = AHCI
	}
	if r.Size == 0 {
		r.Size = p.capacity() / alignment * alignment
	}
	if r.QueueDepth == 0 {
		r.QueueDepth = p.maxDepth()
	}
	switch {
	case !slices.Contains(buses, r.Bus):
		return fail("bus %q: not one of %s", s.Bus, joined(buses))
	case r.QueueDepth < 1 || r.QueueDepth > p.maxDepth():
		return fail("queue-depth %d: this drive takes 1 to %d", s.QueueDepth, p.maxDepth())
	case r.Size < 0 || r.Size%alignment != 0:
		return fail("size %s: not a multiple of %d bytes", s.Size, alignment)
	case r.Size > p.capacity():
		return fail("size %s: more than the %s of the drive", s.Size, p.capacity())
	case !slices.Contains([]Switch{"", "on", "off"}, s.WriteCache):
		return fail("write-cache %q: not on or off", s.WriteCache)
	case p.Disk == nil && s.MediaRate != 0:
		return fail("media-rate: this drive has no timing")
	case s.MediaRate < 0:
		return fail("media-rate %s: negative", s.MediaRate)
	}
	r.writeCache = s.WriteCache != "off"
	if p.Disk == nil {
		return r, nil
	}
	r.disk = p.Disk
	r.writeCache = r.writeCache && p.Disk.WriteCache.Size > 0
	if s.MediaRate != 0 {
		r.rescaled = p.Disk.SequentialRate()
		scaled, err := p.Disk.Rescale(s.MediaRate)
		if err != nil {
			return fail("media-rate: %w", err)
		}
		r.disk = &scaled
	}
	return r, nil
}

func joined[T ~string](names []T) string {
	var list []string
	for _, n := range names {
		list = append(list, string(n))
	}
	return strings.Join(list, ", ")
}
