package machine

import (
	"testing"
	"time"
)

func TestTooBusy(t *testing.T) {
	const s = time.Second
	tests := map[string]struct {
		run, wait, of time.Duration
		want          bool
	}{
		"idle host, guest waits for itself": {3 * s, 0, 120 * s, false},
		"idle host, guest spins":            {119 * s, s, 120 * s, false},
		"two guests on a CPU, one spins":    {50 * s, 60 * s, 120 * s, false},
		"ten guests on a CPU":               {12 * s, 108 * s, 120 * s, true},
		"did not want to run":               {s, 2 * s, 120 * s, false},
	}
	for name, test := range tests {
		if got := tooBusy(test.run, test.wait, test.of); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
