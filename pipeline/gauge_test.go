package pipeline

import (
	"testing"
	"time"

	"spindle/internal/fault"
)

func TestAdded(t *testing.T) {
	const ms = time.Millisecond
	reads := func(n int, each time.Duration, others ...time.Duration) []time.Duration {
		for range n {
			others = append(others, each)
		}
		return others
	}
	for name, x := range map[string]struct {
		took []time.Duration
		want time.Duration
		bad  bool
		kind fault.Kind
	}{
		"all alike":        {took: reads(20, 11*ms), want: ms},
		"a stalled host":   {took: reads(19, 11*ms, 900*ms), want: ms},
		"two kinds":        {took: append(reads(10, 11*ms), reads(10, 12*ms)...), want: 1500 * time.Microsecond},
		"too few":          {took: reads(9, 11*ms), bad: true, kind: fault.Machinery},
		"a clock too slow": {took: reads(20, 9*ms), bad: true, kind: fault.Machinery},
		"a slow guest":     {took: reads(20, 16*ms), bad: true, kind: fault.Machinery},
	} {
		got, err := added(x.took, 10*ms)
		if (err != nil) != x.bad || got != x.want || x.bad && fault.Of(err) != x.kind {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
