package pipeline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
	"spindle/reports/record"
)

func TestPick(t *testing.T) {
	text, ok := Embedded("demo")
	if !ok {
		t.Fatal("no demo plan")
	}
	p, err := Load("demo.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	first := record.Cell{Arm: p.Arms[0].Name, Condition: p.Grid()[0]}
	got, err := p.Pick("", "")
	if err != nil || got != first {
		t.Errorf("Pick of nothing = %v, %v; want the first cell %v", got, err, first)
	}
	second := p.Arms[1].Name
	got, err = p.Pick(second, "bfq xfs")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{second, "xfs", "bfq"}
	if diff := cmp.Diff(want, []string{got.Arm, got.Condition.Filesystem, got.Condition.Scheduler}); diff != "" {
		t.Errorf("words in another order (-want +got):\n%s", diff)
	}
	for _, c := range []struct{ arm, condition, says string }{
		{"nosuch", "", second},
		{"", "xfs kyber", "xfs"},
		{"", "xf", "xfs"}, // words are whole
	} {
		_, err := p.Pick(c.arm, c.condition)
		if fault.Of(err) != fault.Plan || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("Pick(%q, %q): %v; want a fault of the plan that lists what there is", c.arm, c.condition, err)
		}
	}
}
