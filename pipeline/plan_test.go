package pipeline

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"spindle/images"
	"spindle/internal/debian"
	"spindle/internal/unit"
	"spindle/kernels"
	"spindle/pipeline/drive"
	"spindle/workloads"
)

func readFile(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func load(t testing.TB, text string) *Plan {
	t.Helper()
	p, err := Load("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// whole has every key of a plan, in all the ways of YAML that plans may use.
const whole = `# every key
name: "whole"
kernels:
  base:
    deb: linux-image-6.12-amd64
  'mine': {path: /boot/bzImage, modules: /srv/mods}
debian:
  mirror: http://deb.debian.org/debian
  suites:
  - bookworm
image: {suite: trixie, packages: [fio, xfsprogs]}
machine: {memory: 512MiB, cpus: 2, accel: tcg, boot-limit: 1m30s}
drives:
  zeta: {profile: sata-7200, queue-depth: 1, bus: ahci, media-rate: 30MB/s, size: 16GiB, write-cache: off}
  alpha: {profile: sata-7200}
arms:
  zzz: {kernel: base}
  mmm:
    kernel: mine
    sysctl: {vm.dirty_ratio: 10, kernel.core_pattern: "|/bin/false"}
    queue: {wbt_lat_usec: 0, iosched/low_latency: 1}
    cmdline: >-
      mitigations=off
      quiet
    mount: [noatime, commit=30]
  aaa: {kernel: base, mount: "noatime,commit=30"}
conditions:
  drive: [alpha, zeta]
  filesystem: [xfs, ext4]
  scheduler: [none]
workloads:
  - dd: {size: 96MiB, conv: fsync}
  - name: again
    dd: {size: 1GiB}
mkfs:
  ext4: -O ^has_journal  -E lazy_itable_init=0
  xfs: [-L, two words, -L]
mount: {ext4: nobarrier}
repeat: 5
seed: 18446744073709551615
limit: 10m
`

func TestLoad(t *testing.T) {
	got := load(t, whole)
	alpha, err := drive.Spec{Profile: "sata-7200"}.Device()
	if err != nil {
		t.Fatal(err)
	}
	want := &Plan{
		Name: "whole",
		Kernels: map[string]kernels.Source{
			"base": {Deb: "linux-image-6.12-amd64"},
			"mine": {Path: "/boot/bzImage", Modules: "/srv/mods"},
		},
		Debian:  debian.Archive{Mirror: "http://deb.debian.org/debian", Suites: []string{"bookworm"}},
		Image:   images.Spec{Suite: "trixie", Packages: []string{"fio", "xfsprogs"}},
		Machine: Machine{Memory: 512 * unit.MiB, CPUs: 2, Time: "real", Accel: "tcg", BootLimit: unit.Duration(90 * time.Second)},
		Drives: map[string]drive.Spec{
			"zeta":  {Profile: "sata-7200", QueueDepth: 1, Bus: "ahci", MediaRate: 30e6, Size: 16 * unit.GiB, WriteCache: "off"},
			"alpha": {Profile: "sata-7200", QueueDepth: alpha.QueueDepth, Bus: "ahci", Size: alpha.Size, WriteCache: "on"},
		},
		Arms: Arms{
			{Name: "zzz", Kernel: "base"},
			{
				Name: "mmm", Kernel: "mine", Cmdline: "mitigations=off quiet",
				Sysctl: map[string]string{"vm.dirty_ratio": "10", "kernel.core_pattern": "|/bin/false"},
				Queue:  map[string]string{"wbt_lat_usec": "0", "iosched/low_latency": "1"},
				Mount:  MountOptions{"noatime", "commit=30"},
			},
			{Name: "aaa", Kernel: "base", Mount: MountOptions{"noatime", "commit=30"}},
		},
		Conditions: Conditions{Drive: []string{"alpha", "zeta"}, Filesystem: []string{"xfs", "ext4"}, Scheduler: []string{"none"}},
		Workloads: []workloads.Spec{
			{DD: &workloads.DD{Size: 96 * unit.MiB, Conv: "fsync"}},
			{Name: "again", DD: &workloads.DD{Size: unit.GiB}},
		},
		Mkfs:   map[string]MkfsOptions{"ext4": {"-O", "^has_journal", "-E", "lazy_itable_init=0"}, "xfs": {"-L", "two words", "-L"}},
		Mount:  map[string]MountOptions{"ext4": {"nobarrier"}},
		Repeat: 5,
		Seed:   1<<64 - 1,
		Limit:  unit.Duration(10 * time.Minute),
		File:   "test.yaml",
		Text:   whole,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Plan{})); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

const least = `
name: least
kernels: {k: {deb: linux-image-6.12-amd64}}
drives: {z: {profile: sata-7200}, a: {profile: sata-7200}}
arms: {v: {kernel: k}}
conditions: {filesystem: [ext4], scheduler: [bfq]}
workloads: [dd: {size: 96MiB}]
image:
debian: # nothing yet
`

func TestDefaults(t *testing.T) {
	p := load(t, least)
	if want := (Machine{Memory: unit.GiB, CPUs: 1, Time: "real", Accel: "auto", BootLimit: unit.Duration(2 * time.Minute)}); p.Machine != want {
		t.Errorf("machine %v, want %v", p.Machine, want)
	}
	if p.Repeat != 3 || p.Seed != 1 || p.Limit != 0 {
		t.Errorf("repeat %d, seed %d, limit %s; want 3, 1, 0", p.Repeat, p.Seed, p.Limit)
	}
	if diff := cmp.Diff([]string{"z", "a"}, p.Conditions.Drive); diff != "" {
		t.Errorf("drives (-want +got):\n%s", diff)
	}
}

func TestOptionsOfArm(t *testing.T) {
	p := load(t, whole)
	for _, tc := range []struct {
		filesystem, arm string
		want            []string
	}{
		{"ext4", "aaa", []string{"nobarrier", "noatime", "commit=30"}},
		{"ext4", "zzz", []string{"nobarrier"}},
		{"xfs", "zzz", nil},
	} {
		if diff := cmp.Diff(tc.want, p.MountOptions(tc.filesystem, p.Arm(tc.arm)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s in %s (-want +got):\n%s", tc.filesystem, tc.arm, diff)
		}
	}
	// What one caller appends is not for the next.
	one := append(p.MountOptions("ext4", p.Arm("zzz")), "ro")
	two := append(p.MountOptions("ext4", p.Arm("zzz")), "rw")
	if one[1] != "ro" || two[1] != "rw" {
		t.Error("two callers share their options")
	}
}

// TestPlaces holds the place of every node to the text that stands there.
func TestPlaces(t *testing.T) {
	for _, text := range []string{whole, least, readFile(t, "plans/demo.yaml"), "a: {b: [1, é, 'c d'], \"e\": ünï}\nf:\n- - g\n  -  h: i # j\n\n-\tk\nl: m n\n  o p\n"} {
		for _, end := range []string{"\n", "\r\n"} {
			s := &source{file: "x"}
			root := s.read([]byte(strings.ReplaceAll(text, "\n", end)))
			if root == nil {
				t.Fatal(s.err())
			}
			checkPlaces(t, s, root)
		}
	}
}

func checkPlaces(t *testing.T, s *source, n *node) {
	t.Helper()
	at := func(n *node) string { return string([]rune(s.lines[n.line-1])[n.column-1:]) }
	if n.kind == scalar && n.text != "" {
		first, _, _ := strings.Cut(n.text, " ")
		if here := strings.TrimLeft(at(n), `"'`); !strings.HasPrefix(here, first) && here[0] != '>' && here[0] != '|' {
			t.Errorf("%d:%d: text %q, but there stands %q", n.line, n.column, n.text, here)
		}
		if got := string([]rune(at(n))[:n.width]); n.plain && got != n.text && n.width > 1 {
			t.Errorf("%d:%d: marks %q of %q", n.line, n.column, got, n.text)
		}
	}
	if n.kind == sequence && at(n)[0] != '[' && at(n)[0] != '-' {
		t.Errorf("%d:%d: list, but there stands %q", n.line, n.column, at(n))
	}
	if n.kind == mapping && at(n)[0] != '{' && len(n.fields) > 0 && n.column != n.fields[0].key.column {
		t.Errorf("%d:%d: mapping, but there stands %q", n.line, n.column, at(n))
	}
	for _, f := range n.fields {
		checkPlaces(t, s, f.key)
		checkPlaces(t, s, f)
	}
	for _, i := range n.items {
		checkPlaces(t, s, i)
	}
}

func TestByteOrderMark(t *testing.T) {
	if p := load(t, "\ufeff"+whole); p.Name != "whole" {
		t.Errorf("name %q", p.Name)
	}
}
