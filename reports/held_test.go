package reports

import (
	"strings"
	"testing"

	"spindle/reports/record"
)

func TestAgain(t *testing.T) {
	made := func(change map[string]float64, hang bool) *Report {
		m := testManifest("again", "vanilla", "wbt")
		cross(&m, 5, []string{"sata"}, []string{"ext4", "xfs", "btrfs"}, []string{"bfq"}, dd)
		m.Workloads[0].Metrics = m.Workloads[0].Metrics[:1]
		run := create(t, m)
		fill(t, run, func(block int, c record.Cell) []float64 {
			s := 90 * noise(0.005, block, c)
			if c.Arm == "wbt" {
				s *= 1 + change[c.Condition.Filesystem]
			}
			return []float64{s}
		}, func(s *record.Sample) bool {
			if hang && s.Arm == "wbt" && s.Condition.Filesystem == "btrfs" && s.Block == 2 {
				panics(s)
			}
			return true
		})
		r, err := Open(run.Dir())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	then := made(map[string]float64{"ext4": 0.1}, true)
	for name, tt := range map[string]struct {
		now        *Report
		held, fell int
		open       int
		line       string
	}{
		"all":      {made(map[string]float64{"ext4": 0.11}, true), 3, 0, 0, "3 of 3 verdicts held, 0 fell, 0 open"},
		"none":     {made(map[string]float64{"xfs": 0.1}, false), 0, 2, 1, "0 of 3 verdicts held, 2 fell, 1 open"},
		"opposite": {made(map[string]float64{"ext4": -0.1}, true), 2, 1, 0, "2 of 3"},
	} {
		h := Again(then, tt.now)
		if h.Held != tt.held || h.Fell != tt.fell || h.Open != tt.open || !strings.Contains(h.Text, tt.line) {
			t.Errorf("%s: %+v", name, h)
		}
		checkText(t, h.Text)
		if t.Failed() {
			t.Log(h.Text)
		}
	}
}

// A run without verdicts gives no table to compare.
func TestAgainNothing(t *testing.T) {
	m := testManifest("few", "vanilla", "wbt")
	cross(&m, 2, []string{"sata"}, []string{"ext4"}, []string{"bfq"}, dd)
	run := create(t, m)
	fill(t, run, ddValues(88, nil), nil)
	r, err := Open(run.Dir())
	if err != nil {
		t.Fatal(err)
	}
	h := Again(r, r)
	checkText(t, h.Text)
	if h.Held+h.Fell+h.Open != 0 || !strings.Contains(h.Text, "there was no verdict to hold") || strings.Contains(h.Text, "|") {
		t.Errorf("%+v", h)
	}
}
