package pipeline

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestEmbedded(t *testing.T) {
	names := EmbeddedNames()
	if !slices.Contains(names, "demo") {
		t.Fatalf("there is no demo in %v", names)
	}
	for _, name := range names {
		text, ok := Embedded(name)
		if !ok {
			t.Fatalf("%s is listed and not there", name)
		}
		p := load(t, string(text))
		if p.Name != name {
			t.Errorf("plan %s calls itself %s", name, p.Name)
		}
		checkLayout(t, p, Layout(p))
	}
	for _, name := range []string{"", "nothing", "../layout", "demo.yaml"} {
		if _, ok := Embedded(name); ok {
			t.Errorf("there is a plan %q", name)
		}
	}
}

// TestDemo holds the demo to what its comments say.
func TestDemo(t *testing.T) {
	raw, _ := Embedded("demo")
	text := string(raw)
	p := load(t, text)

	samples := 0
	for _, b := range Layout(p) {
		samples += len(b.Cells)
	}
	if samples != 48 {
		t.Errorf("%d samples, want 48", samples)
	}
	said, _, _ := strings.Cut(strings.TrimPrefix(Summary(p, AssumedOverhead("tcg")), "demo: "), ",")
	if !strings.Contains(text, said) {
		t.Errorf("the comment does not say %q", said)
	}
	for _, w := range p.Workloads {
		if w.Slug() == "dd-fsync" {
			said = ""
		}
	}
	if said != "" {
		t.Error("no workload is called dd-fsync")
	}
	if d := p.Drives["sata"]; d.Profile != "sata-7200" || d.MediaRate > 40e6 {
		t.Errorf("drive %+v is not made slow", d)
	}

	// A # right before a word hides a default.
	shown := regexp.MustCompile(`(?m)^( *)#([a-z-]+: )`)
	if n := len(shown.FindAllString(text, -1)); n != 4 {
		t.Errorf("%d defaults are shown, want 4", n)
	}
	same := load(t, shown.ReplaceAllString(text, "$1$2"))
	if diff := cmp.Diff(p, same, cmpopts.IgnoreUnexported(Plan{}), cmpopts.IgnoreFields(Plan{}, "Text")); diff != "" {
		t.Errorf("the defaults shown are none (-plan +with them):\n%s", diff)
	}

	// What it says an arm, a kernel and a workload may have.
	other := strings.NewReplacer(
		"{deb: linux-image-6.1-cloud-amd64}", "{path: arch/x86/boot/bzImage, modules: DIR}",
		"linux-6.1: {kernel: old}", "linux-6.1: {kernel: old, sysctl: {vm.dirty_ratio: 10}, queue: {wbt_lat_usec: 0}, cmdline: TEXT, mount: OPTIONS}",
		"  - dd:", "  - name: own\n    dd:",
		"  filesystem:", "  drive: [sata]\n  filesystem:",
	).Replace(text)
	p = load(t, other)
	if p.Workloads[0].Slug() != "own" || p.Kernels["old"].Modules != "DIR" || p.Arms[0].Cmdline != "TEXT" {
		t.Errorf("plan %+v", p)
	}
}
