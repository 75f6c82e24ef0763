package disk

import (
	"time"

	"spindle/internal/unit"
)

func ms(v float64) unit.Duration { return unit.Duration(v * float64(time.Millisecond)) }

func unitSize(v int64) unit.Size { return unit.Size(v) }

func unitRate(v float64) unit.Rate { return unit.Rate(v) }

// near says whether two times differ by no more than a few roundings.
func near(a, b time.Duration) bool { return max(a-b, b-a) <= 20 }
