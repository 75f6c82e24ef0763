package reports

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/reports/record"
	"spindle/reports/stat"
)

// An arm that broke before the baseline has a sample is no verdict on the arm:
// the baseline may break as well.
func TestNoBaselineYet(t *testing.T) {
	for name, tt := range map[string]struct {
		has   func(record.Sample) bool // samples that are done
		title string
		broke int
		cell  string
	}{
		"arm broke alone": {
			func(s record.Sample) bool { return s.Arm == "b" && s.Block == 1 },
			"oom: b against a: no baseline sample yet in 1 of 1 condition (partial)", 0, "? (no baseline yet) [1]",
		},
		"arm did well": {
			func(s record.Sample) bool { return s.Arm == "b" && s.Block == 2 },
			"oom: b against a: no baseline sample yet in 1 of 1 condition (partial)", 0, "? (no baseline yet) |",
		},
		"baseline did well": {
			func(s record.Sample) bool { return s.Block == 1 },
			"oom: b against a: breaks in 1 of 1 condition (partial)", 1, "panicked in block 1 [1]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := testManifest("oom", "a", "b")
			cross(&m, 2, []string{"sata"}, []string{"ext4"}, []string{"none"}, dd)
			m.Workloads[0].Metrics = m.Workloads[0].Metrics[:1]
			run := create(t, m)
			fill(t, run, func(int, record.Cell) []float64 { return []float64{88} }, func(s *record.Sample) bool {
				if s.Arm == "b" && s.Block == 1 {
					panics(s)
				}
				return tt.has(*s)
			})
			r, err := Open(run.Dir())
			if err != nil {
				t.Fatal(err)
			}
			s := r.Summary()
			if d := cmp.Diff(tt.title, s.Line()); d != "" {
				t.Errorf("title (-want +got):\n%s", d)
			}
			if s.Primary[stat.Broken] != tt.broke || s.Failed() != (tt.broke > 0) {
				t.Errorf("%d broke, failed %v, want %d", s.Primary[stat.Broken], s.Failed(), tt.broke)
			}
			md, err := r.Render("md", false)
			if err != nil {
				t.Fatal(err)
			}
			checkText(t, string(md))
			if got := unwrapped(md); !strings.Contains(got, tt.cell) {
				t.Errorf("no %q in:\n%s", tt.cell, md)
			}
		})
	}
}
