package series

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
	"spindle/pipeline"
)

const asked = `# A plan of somebody's.
name: wbt
kernels:
  # The base.
  base: {git: ~/linux, rev: "6.10", config: [guest, ./mine.config], cc: clang}
  other: {deb: linux-image-6.12-amd64}

# Drives come next.
drives:
  sata: {profile: sata-7200, size: 8GiB} # of 2010
arms:
  vanilla:
    kernel: base
    sysctl:
      vm.dirty_ratio: 10
      kernel.core_pattern: "on: #1"
    mount: [noatime, "commit=30"]
    cmdline: quiet loglevel=3
    queue: {wbt_lat_usec: 0}
  tuned: {kernel: other, sysctl: {vm.dirty_ratio: 5}}
conditions:
  filesystem: [ext4]
  scheduler: [none]
workloads:
  - dd: {size: 64MiB}
repeat: 5
`

const derived = `# A plan of somebody's.
name: wbt
kernels:
  base: {git: ~/linux, rev: "6.10", config: [guest, ./mine.config], cc: clang}
  upto-1: {git: ~/linux, rev: "6.10", series: /s/series.mbox, upto: 1, config: [guest, ./mine.config], cc: clang}
  upto-2: {git: ~/linux, rev: "6.10", series: /s/series.mbox, upto: 2, config: [guest, ./mine.config], cc: clang}

# Drives come next.
drives:
  sata: {profile: sata-7200, size: 8GiB} # of 2010
arms:
  vanilla: {kernel: base, sysctl: {vm.dirty_ratio: 10, kernel.core_pattern: "on: #1"}, mount: [noatime, "commit=30"], cmdline: "quiet loglevel=3", queue: {wbt_lat_usec: 0}}
  upto-1: {kernel: upto-1, sysctl: {vm.dirty_ratio: 10, kernel.core_pattern: "on: #1"}, mount: [noatime, "commit=30"], cmdline: "quiet loglevel=3", queue: {wbt_lat_usec: 0}}
  upto-2: {kernel: upto-2, sysctl: {vm.dirty_ratio: 10, kernel.core_pattern: "on: #1"}, mount: [noatime, "commit=30"], cmdline: "quiet loglevel=3", queue: {wbt_lat_usec: 0}}
conditions:
  filesystem: [ext4]
  scheduler: [none]
workloads:
  - dd: {size: 64MiB}
repeat: 5
`

func load(t *testing.T, text string) *pipeline.Plan {
	t.Helper()
	p, err := pipeline.Load("plan.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDerive(t *testing.T) {
	p := load(t, asked)
	got, err := derive(p, []added{{"upto-1", "/s/series.mbox", 1}, {"upto-2", "/s/series.mbox", 2}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(derived, string(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// What was read says the same as what was written.
	q := load(t, string(got))
	if len(q.Arms) != 3 || len(q.Kernels) != 3 {
		t.Fatalf("arms %v, kernels %v", q.Arms, q.Kernels)
	}
	if d := cmp.Diff(p.Arms[0], q.Arms[0]); d != "" {
		t.Errorf("the base changed (-was +is):\n%s", d)
	}
	for i, a := range q.Arms[1:] {
		if s := q.Kernels[a.Kernel]; *s.Upto != i+1 || s.Git != "~/linux" || s.Rev != "6.10" {
			t.Errorf("arm %s has kernel %+v", a.Name, s)
		}
		a.Name, a.Kernel = p.Arms[0].Name, p.Arms[0].Kernel
		if d := cmp.Diff(p.Arms[0], a); d != "" {
			t.Errorf("an arm has other settings (-base +arm):\n%s", d)
		}
	}
	if d := cmp.Diff([]string{"tuned"}, LeftOut(p)); d != "" {
		t.Errorf("left out (-want +got):\n%s", d)
	}
}

// A kernel may have the name of an arm that is added.
func TestDeriveNames(t *testing.T) {
	p := load(t, strings.NewReplacer("base:", "series:", "kernel: base", "kernel: series").Replace(asked))
	got, err := derive(p, []added{{"series", "/s/series.mbox", 2}})
	if err != nil {
		t.Fatal(err)
	}
	q := load(t, string(got))
	if a, b := q.Kernels[q.Arms[0].Kernel], q.Kernels[q.Arms[1].Kernel]; a.Series != "" || b.Series == "" {
		t.Errorf("kernels %+v and %+v", a, b)
	}
}

func TestBase(t *testing.T) {
	for name, tt := range map[string]struct{ old, new, want string }{
		"a package":    {`{git: ~/linux, rev: "6.10", config: [guest, ./mine.config], cc: clang}`, "{deb: linux-image-6.12-amd64}", "is built already"},
		"a series":     {"cc: clang", "cc: clang, series: old.mbox", "has a series already (old.mbox)"},
		"its own file": {`{git: ~/linux, rev: "6.10", config: [guest, ./mine.config], cc: clang}`, "{path: ./bzImage}", "is built already"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(asked, tt.old, tt.new, 1)
			if text == asked {
				t.Fatal("nothing was replaced")
			}
			_, _, err := base(load(t, text))
			if fault.Of(err) != fault.Plan || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one of the plan with %q", err, tt.want)
			}
		})
	}
	flow := "{name: x, kernels: {base: {tree: /linux}}, drives: {sata: {profile: sata-7200}}, arms: {a: {kernel: base}}, conditions: {filesystem: [ext4], scheduler: [none]}, workloads: [{dd: {size: 1MiB}}]}\n"
	if _, err := derive(load(t, flow), nil); fault.Of(err) != fault.Plan {
		t.Errorf("a plan within braces: %v", err)
	}
}

func TestSource(t *testing.T) {
	for _, tt := range []struct {
		source Source
		want   string // "" is fine
	}{
		{Source{Mbox: "x.mbox"}, ""},
		{Source{Range: "v6.12..wbt"}, ""},
		{Source{B4: "20261130.1-ada@example.org"}, ""},
		{Source{}, "want one of --mbox"},
		{Source{Mbox: "x", B4: "y@z"}, "want one of --mbox"},
		{Source{Range: "v6.12"}, "two commits with two dots"},
		{Source{B4: "--exec=x"}, "want a message id"},
		{Source{B4: "a b"}, "want a message id"},
	} {
		err := tt.source.Validate()
		if (err == nil) != (tt.want == "") || err != nil && (fault.Of(err) != fault.Plan || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: %v, want %q", tt.source, err, tt.want)
		}
	}
}
