package link

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/unit"
	"spindle/pipeline/drive/timing"
)

// fixed takes a millisecond for each request, one after the other.
type fixed struct {
	free time.Duration
	done []timing.Completion
	seen []time.Duration
}

func (f *fixed) Arrive(now time.Duration, r timing.Request) {
	start := max(now, f.free)
	f.free = start + time.Millisecond
	f.done = append(f.done, timing.Completion{ID: r.ID, Start: start, At: f.free})
	f.seen = append(f.seen, now)
}

func (f *fixed) Next() (time.Duration, bool) {
	if len(f.done) == 0 {
		return 0, false
	}
	return f.done[0].At, true
}

func (f *fixed) Advance(now time.Duration) []timing.Completion {
	n := 0
	for n < len(f.done) && f.done[n].At <= now {
		n++
	}
	out := f.done[:n:n]
	f.done = f.done[n:]
	return out
}

// 1 MB/s to the drive and 2 MB/s from it, 0.1 ms a command: 512 bytes take
// 0.612 ms there and 0.356 ms back.
var slow = Profile{Read: 2e6, Write: 1e6, Overhead: unit.Duration(100 * time.Microsecond)}

func TestCrossing(t *testing.T) {
	us := func(n int) time.Duration { return time.Duration(n) * time.Microsecond }
	for _, tt := range []struct {
		name string
		in   []timing.Request // all at 0
		want []timing.Completion
		seen []time.Duration
	}{
		{"read", []timing.Request{{ID: 1, Op: timing.Read, Sectors: 1}},
			[]timing.Completion{{ID: 1, At: us(1356)}}, []time.Duration{0}},
		{"write", []timing.Request{{ID: 1, Op: timing.Write, Sectors: 1}},
			[]timing.Completion{{ID: 1, At: us(1612)}}, []time.Duration{us(612)}},
		{"flush", []timing.Request{{ID: 1, Op: timing.Flush}},
			[]timing.Completion{{ID: 1, At: us(1100)}}, []time.Duration{us(100)}},
		{"two writes: the second crosses while the first is served", []timing.Request{{ID: 1, Op: timing.Write, Sectors: 1}, {ID: 2, Op: timing.Write, Sectors: 1}},
			[]timing.Completion{{ID: 1, At: us(1612)}, {ID: 2, Start: us(612), At: us(2612)}}, []time.Duration{us(612), us(1224)}},
		{"two reads: their data cross one after the other", []timing.Request{{ID: 1, Op: timing.Read, Sectors: 8}, {ID: 2, Op: timing.Read, Sectors: 8}},
			[]timing.Completion{{ID: 1, At: us(3148)}, {ID: 2, At: us(5296)}}, []time.Duration{0, 0}},
	} {
		inner := &fixed{}
		l := New(slow, inner)
		for _, r := range tt.in {
			l.Arrive(0, r)
		}
		var got []timing.Completion
		for {
			due, ok := l.Next()
			if !ok {
				break
			}
			got = append(got, l.Advance(due)...)
		}
		// When the drive took them up is not what this is about.
		for i := range got {
			got[i].Start = min(got[i].Start, tt.want[i].Start)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
		if d := cmp.Diff(tt.seen, inner.seen); d != "" {
			t.Errorf("%s: reached the drive (-want +got):\n%s", tt.name, d)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, p := range []Profile{{}, {Read: 1}, {Read: 1, Write: 1, Overhead: unit.Duration(time.Minute)}} {
		if p.Validate() == nil {
			t.Errorf("%+v was taken", p)
		}
	}
	if err := slow.Validate(); err != nil {
		t.Error(err)
	}
}
