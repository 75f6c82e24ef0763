package drive

import (
	"fmt"
	"time"

	"spindle/internal/fault"
)

// What a drive may be late; the report says how late it was. Shares are of the
// mean service. The arms of a block suffer from the same host, so lateness
// blurs a comparison more than it shifts it, and bounds that a laptop with a
// mail program cannot keep would only make people raise them.
//
// The floors are there because a cache answers in 0.1 ms, of which no host can
// keep a tenth. That of the percentile is about half a revolution at 7200 rpm,
// by which chance moves each request anyway, and more than one period of the
// timing thread's deadline scheduling, which a thread that used up its share
// has to wait for.
const (
	lateP99Floor  = 5 * time.Millisecond
	lateP99Share  = 0.25
	lateMeanFloor = 200 * time.Microsecond
	lateMeanShare = 0.10
	// One stall of the host's, which a workload's maximum would show as the
	// drive's.
	lateMax = 100 * time.Millisecond
	// lateCount is how many answers it takes to speak of a percentile.
	lateCount = 100
)

// Late gives an error when answers left so late that what the guest measured is
// not the model: a fault of the machinery with reason "drive-late".
func (d *Drive) Late() error { return d.Stats().late() }

func (s Stats) late() error {
	l := s.Lateness
	share := func(part float64) time.Duration { return time.Duration(part * float64(s.MeanService)) }
	mean, p99 := max(lateMeanFloor, share(lateMeanShare)), max(lateP99Floor, share(lateP99Share))
	var what string
	switch {
	case l.OutOfRange > 0:
		what = fmt.Sprintf("%d of %d answers left early or more than %v late", l.OutOfRange, l.Count, lateRange)
	case l.Max > lateMax:
		what = fmt.Sprintf("an answer left %v late, bound %v", l.Max, lateMax)
	case l.Count < lateCount:
		return nil
	case l.Mean > mean:
		what = fmt.Sprintf("answers left %v late in the mean, bound %v", l.Mean, mean)
	case l.P99 > p99:
		what = fmt.Sprintf("1 in 100 answers left %v late or more, bound %v", l.P99, p99)
	default:
		return nil
	}
	e := fault.New(fault.Machinery, "drive-late", fmt.Errorf(
		"%s (n %d, mean %v, p50 %v, p99 %v, max %v; mean service %v)",
		what, l.Count, l.Mean, l.P50, l.P99, l.Max, s.MeanService))
	e.Hint = "leave the host's CPUs to the test, or lower the drive's media-rate"
	if s.Urgency != urgency[0].name {
		e.Hint += "; as root, or with CAP_SYS_NICE, the timing thread goes before all others (now: " + s.Urgency + ")"
	}
	return e
}
