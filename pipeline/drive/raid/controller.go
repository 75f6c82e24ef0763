package raid

import (
	"fmt"
	"time"

	"spindle/internal/unit"
)

// Controller describes what is between the host and the members.
type Controller struct {
	// Read and Write are its processor's time for a command, one at a time:
	// they bound operations per second. Latency is what else passes until the
	// host has the answer, for many commands at once.
	Read    unit.Duration `yaml:"read"`
	Write   unit.Duration `yaml:"write"`
	Latency unit.Duration `yaml:"latency"`
	Link    unit.Rate     `yaml:"link"` // to the host

	Depth       int `yaml:"depth"`        // commands it takes at a time
	MemberDepth int `yaml:"member-depth"` // commands it gives to a member at a time

	// Cache is the non-volatile write-back cache; 0 writes through.
	Cache   unit.Size `yaml:"cache"`
	Destage Destage   `yaml:"destage"`
}

// Destage is how the cache is emptied. It begins when the cache is half full,
// or when data has been in it for Interval, and goes on until it is empty.
type Destage struct {
	Interval  unit.Duration `yaml:"interval"`
	PerMember int           `yaml:"per-member"` // writes that a member has at a time for this
	Window    int           `yaml:"window"`     // candidates in ascending order, of which the first whose member is free is taken
}

// Validate checks the numbers. Errors name the key.
func (c Controller) Validate() error {
	switch {
	case c.Read > unit.Duration(time.Second):
		return fmt.Errorf("read %s: more than a second", c.Read)
	case c.Write > unit.Duration(time.Second):
		return fmt.Errorf("write %s: more than a second", c.Write)
	case c.Latency > unit.Duration(time.Second):
		return fmt.Errorf("latency %s: more than a second", c.Latency)
	case c.Link <= 0:
		return fmt.Errorf("link %s: not positive", c.Link)
	case c.Depth < 1 || c.Depth > 65536:
		return fmt.Errorf("depth %d: not between 1 and 65536", c.Depth)
	case c.MemberDepth < 1 || c.MemberDepth > 65536:
		return fmt.Errorf("member-depth %d: not between 1 and 65536", c.MemberDepth)
	case c.Cache < 0 || c.Cache%512 != 0:
		return fmt.Errorf("cache %s: not a multiple of 512 bytes", c.Cache)
	case c.Cache > 0 && (c.Destage.PerMember < 1 || c.Destage.Window < 1):
		return fmt.Errorf("destage: per-member and window must be positive")
	}
	return nil
}
