package ssd

import (
	"fmt"
	"time"

	"spindle/internal/unit"
	"spindle/pipeline/drive/timing"
)

// Profile describes a model of drive, as its data sheet and measurements of it
// would.
type Profile struct {
	Capacity unit.Size `yaml:"capacity"`
	Link     unit.Rate `yaml:"link"` // between host and buffer, what is left for data

	// Read and Write are the controller's own time for one command. It has one
	// at a time in hand, so these bound the operations per second.
	Read  unit.Duration `yaml:"read"`
	Write unit.Duration `yaml:"write"`

	Flash  Flash  `yaml:"flash"`
	Buffer Buffer `yaml:"buffer"`
	Queue  Queue  `yaml:"queue"`
}

// Flash is the media.
type Flash struct {
	Channels  int           `yaml:"channels"`  // what reads at the same time
	Page      unit.Size     `yaml:"page"`      // what a channel reads at a time
	Read      unit.Duration `yaml:"read"`      // of a page
	Program   unit.Duration `yaml:"program"`   // of a page: what a read may have to wait for, and how long the last byte takes
	SLC       unit.Size     `yaml:"slc"`       // how much is programmed at SLCRate; it is free again as it is copied on, when the drive is idle
	SLCRate   unit.Rate     `yaml:"slc-rate"`  // of all channels; needed if there is SLC
	Sustained unit.Rate     `yaml:"sustained"` // of all channels, without SLC or when it is full
}

// Buffer is the DRAM that takes writes.
type Buffer struct {
	Size      unit.Size `yaml:"size"`
	Protected bool      `yaml:"protected,omitempty"` // by capacitors: what is in it is safe, so flushing costs nothing
}

// Queue is native command queueing.
type Queue struct {
	Depth int `yaml:"depth"` // the most commands the drive takes at a time
}

// Validate checks that the numbers make a drive. Errors name the key.
func (p Profile) Validate() error {
	f := p.Flash
	short := func(d unit.Duration) bool { return d > 0 && d <= unit.Duration(time.Second) }
	switch {
	case p.Capacity <= 0 || p.Capacity%timing.SectorSize != 0:
		return fmt.Errorf("capacity %s: not a positive multiple of 512 bytes", p.Capacity)
	case p.Link <= 0:
		return fmt.Errorf("link %s: not positive", p.Link)
	case !short(p.Read):
		return fmt.Errorf("read %s: not positive and up to a second", p.Read)
	case !short(p.Write):
		return fmt.Errorf("write %s: not positive and up to a second", p.Write)
	case f.Channels < 1 || f.Channels > 4096:
		return fmt.Errorf("flash.channels %d: not between 1 and 4096", f.Channels)
	case f.Page < timing.SectorSize || f.Page%timing.SectorSize != 0 || f.Page > unit.MiB:
		return fmt.Errorf("flash.page %s: not a multiple of 512 bytes up to 1MiB", f.Page)
	case !short(f.Read):
		return fmt.Errorf("flash.read %s: not positive and up to a second", f.Read)
	case !short(f.Program):
		return fmt.Errorf("flash.program %s: not positive and up to a second", f.Program)
	case f.SLC < 0:
		return fmt.Errorf("flash.slc %s: negative", f.SLC)
	case f.Sustained <= 0:
		return fmt.Errorf("flash.sustained %s: not positive", f.Sustained)
	case f.SLC > 0 && f.SLCRate < f.Sustained:
		return fmt.Errorf("flash.slc-rate %s: less than the sustained rate of %s", f.SLCRate, f.Sustained)
	case f.SLC == 0 && f.SLCRate != 0:
		return fmt.Errorf("flash.slc-rate %s: there is no slc", f.SLCRate)
	case p.Buffer.Size < f.Page:
		return fmt.Errorf("buffer.size %s: less than a page of %s", p.Buffer.Size, f.Page)
	case p.Queue.Depth < 1 || p.Queue.Depth > 65536:
		return fmt.Errorf("queue.depth %d: not between 1 and 65536", p.Queue.Depth)
	}
	return nil
}

// SequentialRate is what long sequential reads get, enough of them at a time:
// the slowest of link, flash and controller for requests of 128 KiB.
func (p Profile) SequentialRate() unit.Rate {
	const request = 128 << 10
	flash := float64(p.Flash.Channels) * float64(p.Flash.Page) / p.Flash.Read.Std().Seconds()
	return unit.Rate(min(float64(p.Link), flash, request/p.Read.Std().Seconds()))
}

// WriteRate is what sequential writes get: at first, and when the SLC is full.
func (p Profile) WriteRate() (first, sustained unit.Rate) {
	first = p.Flash.Sustained
	if p.Flash.SLC > 0 {
		first = p.Flash.SLCRate
	}
	return min(first, p.Link), min(p.Flash.Sustained, p.Link)
}

// RandomRead is the time of one read of length bytes, one at a time, that is
// not in the buffer, on a drive that is not being written to.
func (p Profile) RandomRead(length unit.Size) time.Duration {
	pages := (int64(length) + int64(p.Flash.Page) - 1) / int64(p.Flash.Page)
	rounds := (pages + int64(p.Flash.Channels) - 1) / int64(p.Flash.Channels)
	cross := func(n unit.Size) time.Duration {
		return time.Duration(float64(n) / float64(p.Link) * float64(time.Second))
	}
	last := length - unit.Size(rounds-1)*unit.Size(p.Flash.Channels)*p.Flash.Page
	// The link is busy with the first pages while the next are read.
	return p.Read.Std() + max(time.Duration(rounds)*p.Flash.Read.Std()+cross(last), p.Flash.Read.Std()+cross(length))
}

// Rescale gives the same drive with other data rates: outermost becomes the
// SequentialRate, and writes change by the same factor.
func (p Profile) Rescale(rate unit.Rate) (Profile, error) {
	if rate <= 0 {
		return p, fmt.Errorf("rescale media rate to %s: not positive", rate)
	}
	factor := unit.Rate(float64(rate) / float64(p.SequentialRate()))
	p.Link = rate
	p.Flash.SLCRate *= factor
	p.Flash.Sustained *= factor
	if p.SequentialRate() < rate*0.999 {
		return p, fmt.Errorf("rescale media rate to %s: the flash reads no faster than %s", rate, p.SequentialRate())
	}
	if err := p.Validate(); err != nil {
		return p, fmt.Errorf("rescale media rate to %s: %w", rate, err)
	}
	return p, nil
}
