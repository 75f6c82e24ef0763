package bisect

import (
	"encoding/json"
	"strings"
	"testing"

	"spindle/reports/bisection"
)

// The report of a bisection is one of its log and its repository alone.
func TestReport(t *testing.T) {
	s := usual(t)
	dir := t.TempDir()
	f, err := hunt(t, s, &bench{noise: 0.01}, dir)
	if err != nil {
		t.Fatal(err)
	}
	state, err := ReadLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := state.result(f.history)
	if r.Kind != string(Found) || len(r.Culprits) != 1 || r.Culprits[0].ID != s.names["culprit"] {
		t.Fatalf("%s: %v", r.Kind, r.Culprits)
	}
	if c := r.Change; c == nil || c.Low > 0.12 || c.High < 0.12 {
		t.Errorf("change %+v, and 12 %% is what was put in", r.Change)
	}
	if r.Confirm == nil || !r.Confirm.Stands || r.Confirm.Revert == nil || !r.Confirm.Revert.Change.Claim {
		t.Errorf("confirmation %+v", r.Confirm)
	}
	if n := r.Boots.Ends + r.Boots.Search + r.Boots.Confirm; n != len(state.Samples) {
		t.Errorf("%d boots by phase, %d samples", n, len(state.Samples))
	}
	text := bisection.Markdown(r)
	for _, want := range []string{
		"    Fixes: " + s.names["culprit"][:12] + " (\"mm: write back earlier\")\n",
		"    #regzbot introduced: " + s.names["culprit"] + "\n",
		"    Author: Ada <ada@example.org>\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// Two commits that changed the metric are both told of.
func TestTwoChanges(t *testing.T) {
	s := newStory(t)
	s.code(8)
	s.replace("first", "mm: one", "", "level 1.25\n")
	s.code(12)
	s.replace("second", "mm: two", "", "level 1.15\n")
	s.code(8)
	s.names["bad"] = s.git("rev-parse", "HEAD")
	f, err := hunt(t, s, &bench{noise: 0.01}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := f.state.result(f.history)
	named := map[string]bool{}
	for _, c := range r.Culprits {
		named[c.ID] = true
	}
	if r.Second != nil {
		for _, c := range r.Second.Culprits {
			named[c.ID] = true
		}
	}
	if !named[s.names["first"]] || r.Second == nil || !named[s.names["second"]] {
		t.Errorf("%s\n%+v", r.Line(), r.Second)
	}
}
