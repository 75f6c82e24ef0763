package reports

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/reports/record"
	"spindle/reports/stat"
)

// autoRun has so many of ten blocks, and an arm that takes longer by change.
func autoRun(t *testing.T, blocks int, change float64) *record.Run {
	m := testManifest("auto", "vanilla", "wbt")
	m.Auto = &record.Auto{Most: 10, Seconds: 7200}
	cross(&m, 10, []string{"sata"}, []string{"ext4"}, []string{"bfq"}, dd)
	r := create(t, m)
	fill(t, r, ddValues(88, func(c record.Cell) float64 {
		if c.Arm == "wbt" {
			return change
		}
		return 0
	}), func(s *record.Sample) bool { return s.Block <= blocks })
	return r
}

func TestStep(t *testing.T) {
	run := autoRun(t, 3, 0.2)
	r, err := Open(run.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int{3, 5, 7, 10}, r.Looks()); d != "" {
		t.Errorf("looks (-want +got):\n%s", d)
	}
	step := r.Step(3)
	if step.Next != 0 || !strings.Contains(step.Why, "decided after 3 blocks") {
		t.Errorf("after three blocks of +20 %%: %+v", step)
	}
	// The interval of a look is wider than that of a run with three blocks.
	for _, k := range r.a.comparisons {
		if k.verdict.Kind != stat.Worse || k.verdict.Level <= 0.98 {
			t.Errorf("%s: %v at level %v", k.metric.Name, k.verdict.Kind, k.verdict.Level)
		}
	}
	if s := r.Summary(); s.Planned != 20 {
		t.Errorf("before the decision %d samples are planned", s.Planned)
	}
	if err := run.Decide(record.Decision{Blocks: 3, Why: step.Why}); err != nil {
		t.Fatal(err)
	}
	if err := run.Decide(record.Decision{Blocks: 3}); err == nil {
		t.Error("decided twice")
	}
	r, err = Open(run.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Summary(); s.Planned != 6 || s.Done != 6 {
		t.Errorf("after the decision: %+v", s)
	}
	out, err := r.Render("md", false)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(out), "\n", " ")
	if strings.Contains(text, "Partial") || !strings.Contains(text, "every comparison was decided after 3 blocks") {
		t.Errorf("report:\n%s", out)
	}

	// Forty samples of 101 s: the next look would be beyond two hours.
	r, err = Open(autoRun(t, 5, 0.0).Dir())
	if err != nil {
		t.Fatal(err)
	}
	if step := r.Step(5); step.Next != 0 && step.Next != 7 {
		t.Errorf("after five blocks: %+v", step)
	}
}
