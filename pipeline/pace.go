package pipeline

import (
	"fmt"
	"time"

	"spindle/internal/progress"
	"spindle/pipeline/machine"
	"spindle/reports/record"
)

// pace tells how far a run is and how long it will take: from the plan's
// estimate at first, from what its samples took once there are some.
type pace struct {
	plan     *Plan
	overhead Overhead
	total    int
	done     int
	left     time.Duration // estimated, of the samples not done
	took     time.Duration // by the samples that this process made
	expected time.Duration // for the same samples
}

func newPace(p *Plan, k *Kit, blocks [][]record.Cell) *pace {
	accel := "kvm"
	if k.Accel == machine.TCG {
		accel = "tcg"
	}
	t := &pace{plan: p, overhead: AssumedOverhead(accel)}
	for _, b := range blocks {
		for _, c := range b {
			t.total++
			t.left += t.plan.EstimateCell(c, t.overhead)
		}
	}
	return t
}

// remaining corrects the estimate by how wrong it was so far.
func (t *pace) remaining() time.Duration {
	if t.expected == 0 {
		return t.left
	}
	return time.Duration(float64(t.left) * float64(t.took) / float64(t.expected))
}

// next says which sample comes.
func (t *pace) next(log *progress.Log, block int, c record.Cell) {
	log.Status(t.done, t.total, t.remaining(), "block %d: %v, %s", block, c.Condition, c.Arm)
}

// had counts a sample that an earlier process made.
func (t *pace) had(c record.Cell) {
	t.done++
	t.left -= t.plan.EstimateCell(c, t.overhead)
}

// did counts a sample just made; what broke is said at once.
func (t *pace) did(log *progress.Log, s record.Sample, took time.Duration) {
	t.had(s.Cell)
	t.took += took
	t.expected += t.plan.EstimateCell(s.Cell, t.overhead)
	if s.Outcome.Kind != record.OK {
		log.Printf("block %d, %v, %s: %s", s.Block, s.Cell.Condition, s.Cell.Arm, describe(s.Outcome))
	}
}

func describe(o record.Outcome) string {
	if o.Detail == "" {
		return o.Reason
	}
	return fmt.Sprintf("%s: %s", o.Reason, o.Detail)
}
