package pipeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A traced workload has its like without tracing before it, unless the plan has
// it under whatever name.
func TestUntraced(t *testing.T) {
	for workloads, want := range map[string][]string{
		"[{dd: {size: 1MiB}, settings: {trace: [blk]}}]":                                                                       {"dd-untraced", "dd"},
		"[{name: x, dd: {size: 1MiB}, settings: {trace: [explain], sysctl: {vm.dirty_ratio: 5}}}, {dd: {size: 1MiB}}]":         {"x-untraced", "x", "dd"},
		"[{dd: {size: 1MiB}}, {name: t, dd: {size: 1MiB}, settings: {trace: [blk]}}]":                                          {"dd", "t"},
		"[{name: t, dd: {size: 1MiB}, settings: {trace: [blk]}}, {name: u, dd: {size: 2MiB}, settings: {trace: [writeback]}}]": {"t-untraced", "t", "u-untraced", "u"},
	} {
		p := load(t, `name: n
kernels: {k: {deb: linux-image-6.12-amd64}}
drives: {d: {profile: sata-7200}}
arms: {a: {kernel: k}}
conditions: {filesystem: [ext4], scheduler: [none]}
workloads: `+workloads+"\n")
		var got []string
		for _, w := range p.Workloads {
			got = append(got, w.Slug())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s", workloads, diff)
		}
		for _, w := range p.Workloads {
			if n := p.twin(w); w.Settings != nil && len(w.Settings.Trace) > 0 && n == "" {
				t.Errorf("%s: %s has no twin", workloads, w.Slug())
			}
		}
	}
}
