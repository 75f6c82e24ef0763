package bisect

import (
	"context"
	"fmt"
	"testing"
	"time"

	"spindle/reports/record"
)

// Steps over one set of ends, as git bisect run makes them: each reads the log
// of those before.
func TestStep(t *testing.T) {
	s := usual(t)
	dir := t.TempDir()
	b := &bench{noise: 0.01, drift: 0.1}
	clock := time.Unix(1700000000, 0)
	now := func() time.Time { clock = clock.Add(time.Second); return clock }
	ends := 0
	step := func(head string) (Side, string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b.t, b.stop, b.repo = t, cancel, repo{s.dir}
		start := Start{Repo: s.dir, Good: s.names["base"], Bad: s.names["bad"], Metric: record.MetricInfo{Name: "runtime", Unit: "s", Direction: record.Lower}, Manifest: &record.Manifest{}}
		log, state, err := openOrCreate(dir, now, start)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		h, err := repo{s.dir}.three(ctx, start.Good, head, start.Bad)
		if err != nil {
			t.Fatal(err)
		}
		f := &Finder{lab: b.lab(), log: log, state: state, history: h, repo: repo{s.dir}, from: state.lastBlock() + 1, most: stepMost}
		side, why, err := f.side(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n := state.boots(phaseEnds); ends == 0 {
			ends = n
		} else if n != ends {
			t.Errorf("the ends were measured again: %d boots, %d at first", n, ends)
		}
		return side, why
	}
	for _, test := range []struct {
		rev  string
		want Side
	}{
		{s.names["culprit"], IsBad},
		{s.names["culprit"] + "^", IsGood},
		{s.names["bad"] + "~3", IsBad},
	} {
		id := s.git("rev-parse", test.rev)
		if side, why := step(id); side != test.want {
			t.Errorf("%s: %v (%s), want %v", test.rev, side, why, test.want)
		}
	}
	// One that does not build is skipped.
	h, err := repo{s.dir}.readHistory(t.Context(), s.names["base"], s.names["bad"], nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range h.Commits {
		if c.Subject == "mm: half a change" || c.Subject == "mm: check at boot" {
			if side, why := step(c.ID); side != IsSkip {
				t.Errorf("%s: %v (%s)", c.Subject, side, why)
			}
		}
	}
}

// git bisect run with a program that ends as a step does.
func TestSides(t *testing.T) {
	// git-bisect(1): 0 is good, 125 is skip, 1 to 127 are bad, others end it.
	for side, want := range map[Side]string{IsGood: "0 good", IsBad: "1 bad", IsSkip: "125 skip"} {
		if got := fmt.Sprint(int(side), " ", side); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
