package pipeline

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/kernels"
)

const codePlan = `name: wbt
kernels:
  wbt:  {git: ~/linux, rev: v6.12, series: wbt-v5.mbox}
  base: {git: ~/linux, rev: v6.12}
  two:
    git: ~/linux
    rev: v6.12
    series: v6.12..origin/wbt
    upto: 2
    config: [guest, filesystems, mine.config]
    cc: clang
  old:  {tarball: https://cdn.kernel.org/linux-4.20.tar.xz, sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, config: ../config-4.20}
  tree: {tree: linux}
drives:
  sata: {profile: sata-7200}
arms:
  vanilla: {kernel: base}
  wbt: {kernel: wbt}
conditions:
  filesystem: [ext4]
  scheduler: [cfq, mq-deadline]
workloads:
  - dd: {size: 96MiB}
`

// Kernels from source code: every key is read, and paths begin at the plan.
func TestKernelsFromCode(t *testing.T) {
	p, err := Load("plans/wbt.yaml", []byte(codePlan))
	if err != nil {
		t.Fatal(err)
	}
	two := 2
	want := map[string]kernels.Source{
		"base": {Git: "/home/me/linux", Rev: "v6.12"},
		"wbt":  {Git: "/home/me/linux", Rev: "v6.12", Series: "plans/wbt-v5.mbox"},
		"two": {Git: "/home/me/linux", Rev: "v6.12", Series: "v6.12..origin/wbt", Upto: &two,
			Config: kernels.Parts{"guest", "filesystems", "plans/mine.config"}, CC: "clang"},
		"old":  {Tarball: "https://cdn.kernel.org/linux-4.20.tar.xz", SHA256: p.Kernels["old"].SHA256, Config: kernels.Parts{"config-4.20"}},
		"tree": {Tree: "plans/linux"},
	}
	got := map[string]kernels.Source{}
	for name, s := range p.Kernels {
		got[name] = Env{Home: "/home/me"}.place(p, s)
		if len(got[name].Config) == 0 {
			s := got[name]
			s.Config = nil
			got[name] = s
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	// Each kernel of a series is built on top of the one before.
	order := p.buildOrder()
	if base, two, wbt := slices.Index(order, "base"), slices.Index(order, "two"), slices.Index(order, "wbt"); base > two || two > wbt {
		t.Errorf("order %v", order)
	}
}
