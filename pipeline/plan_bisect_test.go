package pipeline

import (
	"strings"
	"testing"

	"spindle/internal/fault"
)

const bisectPlan = `name: b
kernels:
  linux: {git: ~/linux, rev: v6.12}
drives:
  sata: {profile: sata-7200}
arms:
  linux: {kernel: linux}
conditions:
  filesystem: [ext4, xfs]
  scheduler: [mq-deadline]
workloads:
  - dd: {size: 96MiB}
`

// What a plan for bisect lacks is said with its place.
func TestCheckBisect(t *testing.T) {
	for _, test := range []struct{ name, from, to, want string }{
		{"fine", "", "", ""},
		{"two arms", "  linux: {kernel: linux}\n", "  linux: {kernel: linux}\n  again: {kernel: linux}\n", "plan.yaml:8:3: arm again: a plan for bisect has one arm"},
		{"package", "{git: ~/linux, rev: v6.12}", "{deb: linux-image-6.12-amd64}", "plan.yaml:3:3: kernel linux: bisect wants a repository"},
		{"elsewhere", "~/linux", "https://example.org/linux.git", "plan.yaml:3:16: git: bisect reads the history of a repository on this host: clone https://example.org/linux.git"},
		{"series", "rev: v6.12", "rev: v6.12, series: wbt.mbox", "plan.yaml:3:45: series: bisect measures commits as they are"},
	} {
		p, err := Load("plan.yaml", []byte(strings.Replace(bisectPlan, test.from, test.to, 1)))
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		name, err := p.CheckBisect()
		switch {
		case test.want == "" && (err != nil || name != "linux"):
			t.Errorf("%s: %q, %v", test.name, name, err)
		case test.want != "" && (fault.Of(err) != fault.Plan || !strings.HasPrefix(err.Error(), test.want)):
			t.Errorf("%s: %v\nwant %s", test.name, err, test.want)
		}
	}
}

func TestPickOne(t *testing.T) {
	p, err := Load("plan.yaml", []byte(bisectPlan))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.PickOne(""); fault.Of(err) != fault.Plan || !strings.HasPrefix(err.Error(), "plan.yaml:8:1: conditions: there are 2") {
		t.Errorf("%v", err)
	}
	cell, err := p.PickOne("xfs")
	if err != nil || cell.Condition.Filesystem != "xfs" {
		t.Errorf("%v, %v", cell, err)
	}
	if m, err := p.MetricOf(cell.Condition, ""); err != nil || !m.Primary {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := p.MetricOf(cell.Condition, "speed"); fault.Of(err) != fault.Plan || !strings.Contains(err.Error(), "runtime") {
		t.Errorf("%v", err)
	}
}
