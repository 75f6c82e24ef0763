package drive

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"spindle/internal/fault"
	"spindle/internal/unit"
	"spindle/pipeline/drive/raid"
	"spindle/pipeline/drive/timing"
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

// Spec is a drive as a plan describes it: one disk, or an array of Count of
// them.
type Spec struct {
	// Profile names the kind of drive: see Profiles. A path (with a slash, or
	// ending in .yaml) names a file with a profile of one's own.
	Profile string `yaml:"profile"`
	// QueueDepth is how many commands the drive takes at a time: 1, or more for
	// one that reorders. 0 means what the profile, or the controller, has.
	// QEMU's NBD client passes on at most 16.
	QueueDepth int `yaml:"queue-depth,omitempty"`
	// Bus is the profile's unless said otherwise, and megasas for an array.
	Bus Bus `yaml:"bus,omitempty"`
	// Size presents only the first bytes of the drive, its outermost part; the
	// geometry stays that of the whole. 0 means all of it.
	Size unit.Size `yaml:"size,omitempty"`
	// MediaRate rescales the rates of the media so that the sustained rate, of
	// the outermost zone and of each member of an array, becomes this one;
	// seeks and rotation stay. 0 means the profile's.
	MediaRate unit.Rate `yaml:"media-rate,omitempty"`
	// ScaledMediaRate stands in for MediaRate where the plan is scaled down. A
	// plan that is run small is mostly run on an emulated CPU, which is too
	// slow for the drive of its full size. The plan puts it in place; a drive
	// does not look at it.
	ScaledMediaRate unit.Rate `yaml:"scaled-media-rate,omitempty"`
	// WriteCache off makes the drive write through. In an array it is the
	// controller's cache, and that of the members where the controller has
	// none; behind a controller's cache members always write through.
	WriteCache Switch `yaml:"write-cache,omitempty"`

	// Count drives make an array of the level RAID.
	Count int        `yaml:"count,omitempty"`
	RAID  raid.Level `yaml:"raid,omitempty"`
	// Stripe is the stripe unit, what one member holds of a stripe; 64 KiB
	// unless said otherwise.
	Stripe unit.Size `yaml:"stripe,omitempty"`
	// Controller names what is before the members: see Controllers. "" is
	// generic, which has no cache of its own.
	Controller string `yaml:"controller,omitempty"`
	// ControllerCache is the size of the controller's non-volatile write-back
	// cache; 0 means what the controller has.
	ControllerCache unit.Size `yaml:"controller-cache,omitempty"`

	// MD makes the Count drives an array of the guest's own.
	MD *MD `yaml:"md,omitempty"`

	// Passthrough is a disk of the host, by a path such as
	// /dev/disk/by-id/ata-..., instead of all of the above but the bus and the
	// depth. Its contents are lost, so Destroy must say which disk it is; see
	// package passthrough.
	Passthrough     string `yaml:"passthrough,omitempty"`
	Destroy         string `yaml:"destroy,omitempty"`
	DestroyContents bool   `yaml:"destroy-contents,omitempty"`

	// Faults are what the drive is to do wrong.
	Faults []Fault `yaml:"faults,omitempty"`

	// ProfileText is the content of the file that Profile names; see
	// [Spec.ReadProfile].
	ProfileText string `yaml:"-"`
}

// Validate checks s. Errors are faults of the plan.
func (s Spec) Validate() error {
	_, err := s.resolve()
	return err
}

// resolved is a Spec with its profile and all defaults.
type resolved struct {
	Spec
	profile               // of each member; rescaled
	rescaled   unit.Rate  // the sustained rate before that, if it was
	controller controller // of an array
	array      bool
	capacity   unit.Size // of all, before Size
	writeCache bool      // of the members
}

// alignment is what sizes are a multiple of, so that no file system meets half
// a page at the end.
const alignment = 4096

// defaultStripe is the PERC's default stripe unit.
const defaultStripe = 64 * unit.KiB

// maxCount bounds arrays: a MegaRAID virtual disk has at most 32 members in a
// span.
const maxCount = 32

// find gives the profile, from wherever it is, and s with its text.
func (s Spec) find() (Spec, profile, error) {
	if !IsFile(s.Profile) {
		p, err := lookup(s.Profile)
		return s, p, err
	}
	s, err := s.ReadProfile(".")
	if err != nil {
		return s, profile{}, err
	}
	p, err := parseProfile(s.Profile, []byte(s.ProfileText))
	return s, p, err
}

func (s Spec) resolve() (resolved, error) {
	switch {
	case s.OfHost():
		return s.resolveHost()
	case s.MD != nil:
		return s.resolveMD()
	}
	s, p, err := s.find()
	if err != nil {
		var place *FileError
		if errors.As(err, &place) {
			return resolved{}, fault.New(fault.Plan, "", err)
		}
		return resolved{}, fault.Planf("drive: %w", err)
	}
	r := resolved{Spec: s, profile: p, capacity: p.capacity()}
	r.array = s.Count > 1 || s.RAID != ""
	fail := func(format string, args ...any) (resolved, error) {
		return resolved{}, fault.Planf("drive %s: "+format, append([]any{s.Profile}, args...)...)
	}
	if err := s.unhosted(); err != nil {
		return fail("%w", err)
	}
	most := p.maxDepth()
	if r.array {
		switch {
		case s.Count < 2 || s.Count > maxCount:
			return fail("count %d: an array takes 2 to %d", s.Count, maxCount)
		case s.RAID == "":
			return fail("count %d: say which raid, or which md; single drives are written one by one", s.Count)
		case !p.timed():
			return fail("raid: this drive has no timing")
		case p.USB != nil:
			return fail("raid: this drive has a link of its own")
		}
		if err := s.RAID.Check(s.Count); err != nil {
			return fail("raid %s: %w", s.RAID, err)
		}
		if r.controller, err = lookupController(orElse(s.Controller, "generic")); err != nil {
			return fail("%w", err)
		}
		if r.Stripe == 0 {
			r.Stripe = defaultStripe
		}
		if r.Stripe < 4096 || r.Stripe&(r.Stripe-1) != 0 || r.Stripe > 16*unit.MiB {
			return fail("stripe %s: not a power of two from 4KiB to 16MiB", r.Stripe)
		}
		if s.ControllerCache < 0 || s.ControllerCache%unit.MiB != 0 || s.ControllerCache > 64*unit.GiB {
			return fail("controller-cache %s: not a multiple of 1MiB up to 64GiB", s.ControllerCache)
		}
		if s.ControllerCache > 0 {
			r.controller.Controller.Cache = s.ControllerCache
		}
		most = r.controller.Controller.Depth
		r.capacity = r.config().Capacity(s.Count)
	} else {
		for key, there := range map[string]bool{"stripe": s.Stripe != 0, "controller": s.Controller != "", "controller-cache": s.ControllerCache != 0} {
			if there {
				return fail("%s: that is for arrays: count and raid are missing", key)
			}
		}
	}
	if r.Bus == "" {
		switch {
		case r.array:
			r.Bus = MegaSAS
		case p.OnBus != "":
			r.Bus = p.OnBus
		default:
			r.Bus = AHCI
		}
	}
	if r.Size == 0 {
		r.Size = r.capacity / alignment * alignment
	}
	if r.QueueDepth == 0 {
		r.QueueDepth = most
	}
	switch {
	case s.Count < 0:
		return fail("count %d: negative", s.Count)
	case !slices.Contains(buses, r.Bus):
		return fail("bus %q: not one of %s", s.Bus, joined(buses))
	case r.QueueDepth < 1 || r.QueueDepth > most:
		return fail("queue-depth %d: this drive takes 1 to %d", s.QueueDepth, most)
	case r.Size < 0 || r.Size%alignment != 0:
		return fail("size %s: not a multiple of %d bytes", s.Size, alignment)
	case r.Size > r.capacity:
		return fail("size %s: more than the %s of the drive", s.Size, r.capacity)
	case !slices.Contains([]Switch{"", "on", "off"}, s.WriteCache):
		return fail("write-cache %q: not on or off", s.WriteCache)
	case !p.timed() && s.MediaRate != 0:
		return fail("media-rate: this drive has no timing")
	case !p.timed() && len(s.Faults) > 0:
		return fail("faults: this drive has no timing")
	case s.MediaRate < 0:
		return fail("media-rate %s: negative", s.MediaRate)
	case !p.timed() && s.ScaledMediaRate != 0:
		return fail("scaled-media-rate: this drive has no timing")
	case s.ScaledMediaRate < 0:
		return fail("scaled-media-rate %s: negative", s.ScaledMediaRate)
	}
	for i, f := range s.Faults {
		if err := f.validate(r.Size); err != nil {
			return fail("faults: number %d: %w", i+1, err)
		}
	}
	r.writeCache = s.WriteCache != "off"
	if p.timed() {
		size, _ := p.cache()
		r.writeCache = r.writeCache && size > 0
	}
	if r.array && r.controller.Controller.Cache > 0 {
		// A controller that answers for what it has taken lets no member
		// forget it.
		if !r.writeCache {
			r.controller.Controller.Cache = 0
		}
		r.writeCache = false
	}
	if s.MediaRate != 0 {
		r.rescaled = p.rate()
		if r.profile, err = p.rescale(s.MediaRate); err != nil {
			// Of the model's own words only the reason: its keys are not the
			// plan's.
			reason := err.Error()
			if i := strings.LastIndex(reason, ": "); i >= 0 {
				reason = reason[i+2:]
			}
			return fail("media-rate %s: %s; the drive itself has %s", s.MediaRate, reason, rounded(r.rescaled))
		}
	}
	return r, nil
}

// rounded is a rate as data sheets give it.
func rounded(r unit.Rate) string { return fmt.Sprintf("%.4gMB/s", float64(r)/1e6) }

// rate is the sustained rate of one drive.
func (p profile) rate() unit.Rate {
	var rate unit.Rate
	switch {
	case p.Disk != nil:
		rate = p.Disk.SequentialRate()
	case p.SSD != nil:
		rate = p.SSD.SequentialRate()
	}
	if p.USB != nil {
		const command = 120 * unit.KiB // the most that Linux asks of USB 2.0 at a time
		rate = min(rate, unit.Rate(float64(command)/p.USB.Takes(timing.Read, command).Seconds()))
	}
	return rate
}

// rescale gives the profile with other rates of the media.
func (p profile) rescale(rate unit.Rate) (profile, error) {
	switch {
	case p.Disk != nil:
		scaled, err := p.Disk.Rescale(rate)
		p.Disk = &scaled
		return p, err
	default:
		scaled, err := p.SSD.Rescale(rate)
		p.SSD = &scaled
		return p, err
	}
}

// config is the array.
func (r resolved) config() raid.Config {
	return raid.Config{Level: r.RAID, Unit: r.Stripe, Member: r.profile.capacity(), Controller: r.controller.Controller}
}

// safe says whether an acknowledged write survives the loss of power.
func (r resolved) safe() bool {
	_, volatile := r.cache()
	return !r.writeCache || !volatile
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func joined[T ~string](names []T) string {
	var list []string
	for _, n := range names {
		list = append(list, string(n))
	}
	return strings.Join(list, ", ")
}
