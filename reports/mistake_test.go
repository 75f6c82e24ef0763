package reports

import (
	"strings"
	"testing"

	"spindle/reports/record"
)

// What fails in every arm alike is the plan's, whichever workload asks for it,
// and whatever the others come to.
func TestWorkloadMistake(t *testing.T) {
	failed := record.Outcome{Kind: record.KernelFault, Reason: "workload", Detail: "workload: sh -c nosuch: exit status 127"}
	setting := record.Outcome{Kind: record.KernelFault, Reason: "setting", Detail: "set trace: this kernel cannot: no events/foo"}
	panicked := record.Outcome{Kind: record.KernelFault, Reason: "panic", Detail: "Kernel panic"}
	for name, tt := range map[string]struct {
		edit func(*record.Sample)
		want string // "" where no plan is at fault
	}{
		"workload": {func(s *record.Sample) { s.Outcome = failed }, "workload dd failed in every arm: workload: sh -c nosuch: exit status 127"},
		"setting":  {func(s *record.Sample) { s.Outcome = setting }, "workload dd wants the setting trace, which cannot be had in any arm: "},
		"a drive that fails": {func(s *record.Sample) {
			s.Outcome = failed
			s.Drive.Faults = []string{"error: 3 requests"}
		}, ""},
		"one arm": {func(s *record.Sample) {
			if s.Arm == "tuned" {
				s.Outcome = failed
			}
		}, ""},
		"once": {func(s *record.Sample) {
			if s.Block == 1 {
				s.Outcome = failed
			}
		}, ""},
		"panics in one": {func(s *record.Sample) {
			s.Outcome = failed
			if s.Arm == "tuned" {
				s.Outcome = panicked
			}
		}, ""},
		"panics": {func(s *record.Sample) { s.Outcome = panicked }, ""},
	} {
		m := testManifest("n", "vanilla", "tuned")
		cross(&m, 2, []string{"sata"}, []string{"ext4", "xfs"}, []string{"bfq"}, dd, ddFsync)
		r := create(t, m)
		fill(t, r, ddValues(88, nil), func(s *record.Sample) bool {
			if s.Condition.Workload == "dd" {
				tt.edit(s)
			}
			return true
		})
		sum, err := Write(r.Dir())
		got := strings.Join(sum.PlanMistakes, "; ")
		if err != nil || (tt.want == "") != (got == "") || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
		}
	}
	// With one arm nothing says that another kernel would do better.
	m := testManifest("n", "vanilla")
	cross(&m, 2, []string{"sata"}, []string{"ext4"}, []string{"bfq"}, dd)
	r := create(t, m)
	fill(t, r, ddValues(88, nil), func(s *record.Sample) bool { s.Outcome = failed; return true })
	if sum, err := Write(r.Dir()); err != nil || len(sum.PlanMistakes) > 0 {
		t.Errorf("one arm: %q, %v", sum.PlanMistakes, err)
	}
}
