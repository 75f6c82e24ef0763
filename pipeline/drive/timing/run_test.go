package timing_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spindle/pipeline/drive/timing"
)

// A clock stops at each event that is due, never goes back for one that is
// overdue, and ends at the time asked for.
func TestRun(t *testing.T) {
	due := []time.Duration{1, 3, 3, 2, 7, 9}
	clock := time.Duration(2)
	var at []time.Duration
	run := func(until time.Duration) {
		timing.Run(&clock, until,
			func() (time.Duration, bool) {
				if len(due) == 0 {
					return 0, false
				}
				return due[0], true
			},
			func() {
				at = append(at, clock)
				due = due[1:]
			})
	}
	run(7)
	if diff := cmp.Diff([]time.Duration{2, 3, 3, 3, 7}, at); diff != "" || clock != 7 {
		t.Errorf("stopped at (-want +got), clock %v:\n%s", clock, diff)
	}
	run(8)
	run(20)
	if len(at) != 6 || at[5] != 9 || clock != 20 {
		t.Errorf("stopped at %v, clock %v", at, clock)
	}
}

func TestMustFit(t *testing.T) {
	for _, tt := range []struct {
		r    timing.Request
		fits bool
	}{
		{timing.Request{Op: timing.Read, LBA: 0, Sectors: 100}, true},
		{timing.Request{Op: timing.Flush}, true},
		{timing.Request{Op: timing.Write, LBA: 100}, false},
		{timing.Request{Op: timing.Write, LBA: 99, Sectors: 2}, false},
		{timing.Request{Op: timing.Trim, LBA: -1, Sectors: 2}, false},
		{timing.Request{Op: timing.Read, LBA: 1, Sectors: -2}, false},
		{timing.Request{Op: timing.Read, LBA: 1, Sectors: 1<<63 - 1}, false},
	} {
		func() {
			defer func() {
				if r := recover(); (r == nil) != tt.fits {
					t.Errorf("%+v: %v", tt.r, r)
				}
			}()
			tt.r.MustFit("drive", 100)
		}()
	}
}
