package ioperf

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// mail is btrfs's output as Dave Chinner posted it on 29 Apr 2014.
const mail = `....
read[11331]: avg: 0.3 msec; max: 7.0 msec
read[11340]: avg: 0.3 msec; max: 7.1 msec
read[11334]: avg: 0.3 msec; max: 7.0 msec
read[11329]: avg: 0.3 msec; max: 7.0 msec
read[11328]: avg: 0.3 msec; max: 7.0 msec
read[11332]: avg: 0.6 msec; max: 4481.2 msec
read[11342]: avg: 0.6 msec; max: 4480.6 msec
read[11332]: avg: 0.0 msec; max: 0.7 msec
read[11342]: avg: 0.0 msec; max: 1.6 msec
wal[11326]: avg: 0.0 msec; max: 0.1 msec
.....

It was also not uncommon to see major commit latencies:

read[11335]: avg: 0.2 msec; max: 8.3 msec
read[11341]: avg: 0.2 msec; max: 8.5 msec
wal[11326]: avg: 0.0 msec; max: 0.1 msec
commit[11326]: avg: 0.7 msec; max: 5302.3 msec
wal[11326]: avg: 0.0 msec; max: 0.1 msec
wal[11326]: avg: 0.0 msec; max: 0.1 msec
wal[11326]: avg: 0.0 msec; max: 0.1 msec
commit[11326]: avg: 0.0 msec; max: 6.1 msec
read[11337]: avg: 0.2 msec; max: 6.2 msec
`

func TestParseLines(t *testing.T) {
	ms := func(v float64) time.Duration { return time.Duration(v*10) * 100 * time.Microsecond }
	all := ParseLines(mail)
	if len(all) != 19 {
		t.Fatalf("%d lines", len(all))
	}
	worst := map[string]time.Duration{}
	for _, l := range all {
		worst[l.Op] = max(worst[l.Op], l.Max)
	}
	want := map[string]time.Duration{"read": ms(4481.2), "wal": ms(0.1), "commit": ms(5302.3)}
	if diff := cmp.Diff(want, worst); diff != "" {
		t.Error(diff)
	}
	// The mail's "0.7 msec" a commit is 14.
	if diff := cmp.Diff(Line{"commit", 11326, ms(0.7), ms(14), ms(5302.3)}, all[13]); diff != "" {
		t.Error(diff)
	}
}

func FuzzParseLines(f *testing.F) {
	f.Add(mail)
	f.Add("commit[1]: avg: 999999999.9 msec; max: 0.0 msec")
	f.Fuzz(func(t *testing.T, text string) {
		for _, l := range ParseLines(text) {
			if l.Average < l.Printed || l.Max < 0 {
				t.Errorf("%+v", l)
			}
		}
	})
}
