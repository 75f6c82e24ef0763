package disk

import (
	"fmt"
	"time"

	"spindle/internal/unit"
	"spindle/pipeline/drive/timing"
)

// Profile describes a model of disk, as its data sheet and measurements of it
// would.
type Profile struct {
	Capacity unit.Size `yaml:"capacity"`
	RPM      float64   `yaml:"rpm"`

	// Geometry. The cylinders follow from the capacity. The rates are those of
	// the media on one track; a sequential reader gets less, because heads and
	// cylinders are switched on the way: see SequentialRate.
	Heads     int       `yaml:"heads"`
	Zones     int       `yaml:"zones"`
	OuterRate unit.Rate `yaml:"outer-rate"`
	InnerRate unit.Rate `yaml:"inner-rate"`

	// HeadSwitch is the time to settle on another head of the same cylinder.
	// The skews are how far the first sector of the next track lies behind the
	// last of this one; they must cover the switch, or each track would cost
	// one more revolution.
	HeadSwitch   unit.Duration `yaml:"head-switch"`
	HeadSkew     unit.Duration `yaml:"head-skew"`
	CylinderSkew unit.Duration `yaml:"cylinder-skew"`

	Seek Seek `yaml:"seek"`

	Overhead unit.Duration `yaml:"overhead"` // of the controller, per command
	Link     unit.Rate     `yaml:"link"`     // between host and cache

	ReadAhead  ReadAhead  `yaml:"read-ahead"`
	WriteCache WriteCache `yaml:"write-cache"`
	Queue      Queue      `yaml:"queue"`
}

// ReadAhead is what the disk reads beyond a request into its cache.
type ReadAhead struct {
	Segments int       `yaml:"segments"` // independent streams that are remembered
	Segment  unit.Size `yaml:"segment"`  // how far it reads ahead of the host
}

// WriteCache is the volatile write-back cache.
type WriteCache struct {
	Size     unit.Size     `yaml:"size"`
	Window   int           `yaml:"window"`    // candidates, in ascending order, that destaging chooses from
	AgeLimit unit.Duration `yaml:"age-limit"` // data older than this is destaged first
	Linger   unit.Duration `yaml:"linger"`    // the arm stays this long after a read before it destages unasked
}

// Queue is native command queueing.
type Queue struct {
	Depth    int           `yaml:"depth"`     // the most commands the disk takes at a time
	AgeLimit unit.Duration `yaml:"age-limit"` // a command older than this is served first
}

// Bounds of the sums behind RandomRead and Seek.Average; no disk has as many.
const (
	maxCylinders = 1 << 22
	maxTracks    = 1 << 22
)

// Validate checks that the numbers make a disk. Errors name the key.
func (p Profile) Validate() error {
	w := p.WriteCache
	switch {
	case p.Capacity <= 0 || p.Capacity%timing.SectorSize != 0:
		return fmt.Errorf("capacity %s: not a positive multiple of 512 bytes", p.Capacity)
	case p.RPM < 60 || p.RPM > 100000:
		return fmt.Errorf("rpm %g: not between 60 and 100000", p.RPM)
	case p.Heads < 1 || p.Heads > 64:
		return fmt.Errorf("heads %d: not between 1 and 64", p.Heads)
	case p.Zones < 1 || p.Zones > 256:
		return fmt.Errorf("zones %d: not between 1 and 256", p.Zones)
	case p.InnerRate <= 0 || p.OuterRate < p.InnerRate:
		return fmt.Errorf("inner-rate %s, outer-rate %s: the inner must be positive and not above the outer", p.InnerRate, p.OuterRate)
	case p.sectorsPerTrack(p.InnerRate) < 8 || p.sectorsPerTrack(p.OuterRate) > 1<<20:
		return fmt.Errorf("inner-rate %s, outer-rate %s: a track would hold fewer than 8 or more than 1048576 sectors", p.InnerRate, p.OuterRate)
	case p.Overhead > unit.Duration(time.Second):
		return fmt.Errorf("overhead %s: more than a second", p.Overhead)
	case p.Link <= 0:
		return fmt.Errorf("link %s: not positive", p.Link)
	case p.ReadAhead.Segments < 0 || p.ReadAhead.Segments > 1024:
		return fmt.Errorf("read-ahead.segments %d: not between 0 and 1024", p.ReadAhead.Segments)
	case p.ReadAhead.Segments > 0 && p.ReadAhead.Segment < timing.SectorSize:
		return fmt.Errorf("read-ahead.segment %s: less than a sector", p.ReadAhead.Segment)
	case w.Size < 0 || w.Size%timing.SectorSize != 0:
		return fmt.Errorf("write-cache.size %s: not a multiple of 512 bytes", w.Size)
	case w.Size > 0 && (w.Window < 1 || w.AgeLimit <= 0):
		return fmt.Errorf("write-cache: window and age-limit must be positive")
	case p.Queue.Depth < 1 || p.Queue.Depth > 1024:
		return fmt.Errorf("queue.depth %d: not between 1 and 1024", p.Queue.Depth)
	case p.Queue.Depth > 1 && p.Queue.AgeLimit <= 0:
		return fmt.Errorf("queue.age-limit %s: not positive", p.Queue.AgeLimit)
	}
	if err := p.Seek.validate(); err != nil {
		return err
	}
	if n := newGeometry(p).cylinders; n > maxCylinders {
		return fmt.Errorf("capacity %s: takes %d cylinders at these rates, more than %d", p.Capacity, n, maxCylinders)
	}
	rev := time.Duration(p.revolution())
	_, write := p.Seek.motions()
	next := time.Duration(write.time(1)) + p.Seek.Jitter.Std()
	switch {
	case p.HeadSkew < p.HeadSwitch || p.HeadSkew.Std() >= rev:
		return fmt.Errorf("head-skew %s: not between head-switch %s and a revolution of %s", p.HeadSkew, p.HeadSwitch, rev)
	case p.CylinderSkew.Std() < next || p.CylinderSkew.Std() >= rev:
		return fmt.Errorf("cylinder-skew %s: not between the write seek to the next track (with jitter) of %s and a revolution of %s", p.CylinderSkew, next, rev)
	}
	return nil
}

// revolution is the time of one turn, in nanoseconds.
func (p Profile) revolution() float64 { return float64(time.Minute) / p.RPM }

func (p Profile) sectorsPerTrack(rate unit.Rate) int64 {
	return int64(float64(rate)*p.revolution()/float64(time.Second)/timing.SectorSize + 0.5)
}

// meanSkew is the time lost at each change of track, in nanoseconds, averaged
// over a cylinder.
func (p Profile) meanSkew() float64 {
	return (float64(p.Heads-1)*float64(p.HeadSkew) + float64(p.CylinderSkew)) / float64(p.Heads)
}

// Rescale gives the same disk with other data rates: outermost becomes the
// SequentialRate. Between the same two addresses the seek takes as long as
// before, and the disk turns as fast: it has the same capacity on more tracks
// with fewer sectors each. This is for emulators that could not keep up with
// the disk's own rate.
func (p Profile) Rescale(outermost unit.Rate) (Profile, error) {
	if outermost <= 0 {
		return p, fmt.Errorf("rescale media rate to %s: not positive", outermost)
	}
	factor := unit.Rate(float64(outermost) / float64(p.SequentialRate()))
	p.OuterRate *= factor
	p.InnerRate *= factor
	if err := p.Validate(); err != nil {
		return p, fmt.Errorf("rescale media rate to %s: %w", outermost, err)
	}
	return p, nil
}
