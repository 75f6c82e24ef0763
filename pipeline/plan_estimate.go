package pipeline

import (
	"fmt"
	"time"

	"spindle/reports/record"
)

// Overhead is what a sample takes beside its workload.
type Overhead struct {
	Boot  time.Duration // from starting QEMU until the guest takes commands
	Setup time.Duration // settings, mkfs and mount before, collecting after
}

// AssumedOverhead gives an overhead to reckon with before the first sample
// was measured. Emulating a CPU (tcg) makes a guest boot several times slower
// than running on it (kvm); auto is taken for tcg, because an estimate that
// is too long disappoints nobody.
func AssumedOverhead(accel string) Overhead {
	if accel == "kvm" {
		return Overhead{Boot: 2 * time.Second, Setup: 2 * time.Second}
	}
	return Overhead{Boot: 8 * time.Second, Setup: 5 * time.Second}
}

// EstimateCell gives how long one sample of a cell will take: the overhead,
// and the workload at the sequential rate of its drive. Workloads that seek
// take longer than that, so this is a lower bound for them.
func (p *Plan) EstimateCell(c record.Cell, o Overhead) time.Duration {
	return o.Boot + o.Setup + p.estimateWorkload(c.Condition)
}

func (p *Plan) estimateWorkload(c record.Condition) time.Duration {
	w, ok := p.Workload(c.Workload)
	if !ok {
		return 0
	}
	seconds := w.EstimateSeconds(p.Drives[c.Drive].SequentialRate())
	// Not a number and beyond the years that time.Duration counts alike.
	if !(seconds < maxEstimate.Seconds()) {
		return maxEstimate
	}
	return time.Duration(max(seconds, 0) * float64(time.Second))
}

// maxEstimate bounds the estimate of one sample, so that sums of many stay
// within time.Duration.
const maxEstimate = 24 * time.Hour

// Estimate gives how long all samples of the plan will take, one after the
// other.
func Estimate(p *Plan, o Overhead) time.Duration {
	var sum time.Duration
	for _, c := range p.Grid() {
		sum += p.EstimateCell(record.Cell{Condition: c}, o)
	}
	return sum * time.Duration(len(p.Arms)*p.Repeat)
}

// SampleLimit gives how long a sample of the condition may take: the plan's
// limit, or ten times what its workload should take and five minutes more. A
// kernel that stalls for minutes is what spindle is there to show, so the
// limit is only for those that never end.
func (p *Plan) SampleLimit(c record.Condition) time.Duration {
	if p.Limit > 0 {
		return p.Limit.Std()
	}
	return 5*time.Minute + 10*p.estimateWorkload(c)
}

// about says a duration as a person would, with as many digits as an
// estimate deserves.
func about(d time.Duration) string {
	if s := d.Round(time.Second); s < 99*time.Second {
		return fmt.Sprintf("about %d s", int(s.Seconds()))
	}
	if m := d.Round(time.Minute); m < 99*time.Minute {
		return fmt.Sprintf("about %d min", int(m.Minutes()))
	}
	m := d.Round(10 * time.Minute)
	switch hours, minutes := int(m.Hours()), int(m.Minutes())%60; {
	case hours >= 48:
		return fmt.Sprintf("about %d days", (hours+12)/24)
	case minutes == 0:
		return fmt.Sprintf("about %d h", hours)
	default:
		return fmt.Sprintf("about %d h %d min", hours, minutes)
	}
}
