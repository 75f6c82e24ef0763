package reports

import (
	"strings"
	"testing"

	"spindle/reports/record"
	"spindle/reports/stat"
)

// controlled is a run with the baseline once more beside an arm that takes a
// tenth longer; the control takes so much longer itself.
func controlled(t *testing.T, shift float64) *record.Run {
	m := testManifest("controlled", "vanilla", "wbt", "vanilla again")
	m.Arms[2].Kernel, m.Arms[2].Control = "base", true
	cross(&m, 5, []string{"sata"}, []string{"ext4", "xfs"}, []string{"bfq"}, dd)
	r := create(t, m)
	fill(t, r, ddValues(88, func(c record.Cell) float64 {
		return map[string]float64{"wbt": 0.1, "vanilla again": shift}[c.Arm]
	}), nil)
	return r
}

func TestControl(t *testing.T) {
	steadyRun, err := Open(controlled(t, 0).Dir())
	if err != nil {
		t.Fatal(err)
	}
	s := steadyRun.Summary()
	if !s.Failed() || s.Primary[stat.Worse] != 2 || !strings.Contains(s.Line(), "worse in 2 of 2 conditions") {
		t.Errorf("steady: %q %+v", s.Line(), s)
	}
	text, err := steadyRun.Render("md", false)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.ReplaceAll(string(text), "\n", " "), "no change is claimed, as it must be") {
		t.Errorf("report does not speak of the control:\n%s", text)
	}

	if !strings.Contains(strings.ReplaceAll(string(text), "\n", " "), "the same kernel with the same settings") {
		t.Errorf("report does not say what an A/A is:\n%s", text)
	}

	shakenRun, err := Open(controlled(t, 0.08).Dir())
	if err != nil {
		t.Fatal(err)
	}
	s = shakenRun.Summary()
	if !strings.Contains(s.Line(), "A/A changed: nothing is claimed") {
		t.Errorf("title is %q", s.Line())
	}
	for _, k := range shakenRun.a.comparisons {
		if k.arm == "wbt" && k.verdict.Kind != stat.Undecided {
			t.Errorf("wbt is %v", k.verdict.Kind)
		}
	}
	text, err = shakenRun.Render("md", false)
	if err != nil {
		t.Fatal(err)
	}
	checkText(t, string(text))
	head, _, _ := strings.Cut(string(text), "## What changed")
	if !strings.Contains(strings.ReplaceAll(head, "\n", " "), "compared with itself changed, so this run claims nothing") {
		t.Errorf("top of the report:\n%s", head)
	}
}

// In virtual time the baseline is built once more, and the report says so.
func TestControlRebuilt(t *testing.T) {
	m := testManifest("rebuilt", "vanilla", "vanilla again")
	k := m.Kernels[0]
	k.Name, k.Hash = k.Name+" again", strings.Repeat("f", len(k.Hash))
	m.Kernels = append(m.Kernels, k)
	m.Arms[0].Kernel = m.Kernels[0].Name
	m.Arms[1].Kernel, m.Arms[1].Control = k.Name, true
	cross(&m, 5, []string{"sata"}, []string{"ext4"}, []string{"bfq"}, dd)
	run := create(t, m)
	fill(t, run, ddValues(88, nil), nil)
	r, err := Open(run.Dir())
	if err != nil {
		t.Fatal(err)
	}
	text, err := r.Render("md", false)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.ReplaceAll(string(text), "\n", " "), "both are builds of one source, which differ in nothing that matters, and no change is claimed") {
		t.Errorf("report:\n%s", text)
	}
}
