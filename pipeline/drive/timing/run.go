package timing

import (
	"fmt"
	"time"
)

// Run carries a model from event to event up to the time until, which its clock
// shows then. event is when its state changes next, step handles what is due at
// the time of the clock; a step must move its event on, or Run does not end.
func Run(clock *time.Duration, until time.Duration, event func() (time.Duration, bool), step func()) {
	for {
		due, ok := event()
		if !ok || due > until {
			break
		}
		*clock = max(*clock, due)
		step()
	}
	*clock = max(*clock, until)
}

// MustFit panics over a request that does not lie within a drive of so many
// sectors: whoever serves a drive has checked that.
func (r Request) MustFit(model string, sectors int64) {
	if r.LBA < 0 || r.Sectors < 0 || r.LBA > sectors-r.Sectors || r.Op != Flush && r.Sectors == 0 {
		panic(fmt.Sprintf("%s: request for %d sectors at %d of %d", model, r.Sectors, r.LBA, sectors))
	}
}
