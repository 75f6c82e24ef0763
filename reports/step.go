package reports

import (
	"time"

	"spindle/reports/stat"
)

// Step says how a run that repeats by itself goes on after so many whole
// blocks, by the primary metric of each condition. A run with a fixed number
// of blocks gets the zero step.
func (r *Report) Step(blocks int) stat.Step {
	a := r.a
	auto := a.manifest.Auto
	if auto == nil {
		return stat.Step{}
	}
	var vs []stat.Verdict
	for _, k := range a.comparisons {
		if k.metric.Primary && !a.twin(k.arm) {
			vs = append(vs, k.verdict)
		}
	}
	var spent float64
	for _, s := range a.samples {
		spent += s.TotalSeconds
	}
	var perBlock, left time.Duration
	if auto.Seconds > 0 && blocks > 0 {
		perBlock = duration(spent / float64(blocks))
		if left = duration(auto.Seconds - spent); left == 0 {
			left = -1
		}
	}
	return stat.Auto{Most: auto.Most, See: auto.See}.After(blocks, vs, perBlock, left)
}

func duration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Looks gives after which blocks such a run looks; nil for a fixed number.
func (r *Report) Looks() []int {
	if r.a.manifest.Auto == nil {
		return nil
	}
	return stat.Auto{Most: r.a.manifest.Auto.Most}.Looks()
}
