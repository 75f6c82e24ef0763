package pipeline

import (
	"strings"
	"testing"

	"spindle/internal/unit"
)

func TestScaleText(t *testing.T) {
	for text, want := range map[string]float64{"1": 1, "1/8": 0.125, "0.25": 0.25, "2": 2, "3/4": 0.75} {
		var s Scale
		if err := s.UnmarshalText([]byte(text)); err != nil || float64(s) != want {
			t.Errorf("%s: %g, %v", text, float64(s), err)
		}
	}
	for _, bad := range []string{"", "0", "-1", "1/0", "1e-2", "65", "1/", "a", "1/8/2", "0x1"} {
		var s Scale
		if err := s.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is %g", bad, float64(s))
		}
	}
	for s, want := range map[Scale]string{0: "1", 1: "1", 0.125: "1/8", 0.75: "0.75", 2: "2"} {
		if s.String() != want {
			t.Errorf("%g is %s, want %s", float64(s), s, want)
		}
	}
}

// The plans of the mails say in full what the mails say, and the ratios stay at
// their own scale.
func TestMails(t *testing.T) {
	for _, tt := range []struct {
		name     string
		memory   unit.Size // at full size
		workload string
		space    unit.Size // of that workload
		ratio    float64   // space to memory
	}{
		{"kara-2016", 4 * unit.GiB, "dd-fsync", 10000 * unit.MiB, 2.441},
		{"kara-2016", 4 * unit.GiB, "read-to-pipe", 10 * unit.GiB, 2.5},
		{"torture-2011", unit.GiB, "fresh-1m", 8*unit.GiB + unit.MiB, 8},
		{"bfq-dsync-2019", unit.GiB, "in-group", 5_120_000, 0.00477},
		{"postgres-2014", 16 * unit.GiB, "ioperf", 49*unit.GiB + 16*unit.KiB, 3.0625},
	} {
		text, ok := Embedded(tt.name)
		if !ok {
			t.Fatalf("there is no %s", tt.name)
		}
		small := load(t, string(text))
		full := small.FullSize()
		if full == nil {
			t.Fatalf("%s cannot be run at full size", tt.name)
		}
		w, ok := full.Workload(tt.workload)
		if !ok || full.Machine.Memory != tt.memory || w.Space() != tt.space {
			t.Errorf("%s: memory %s, %s fills %s", tt.name, full.Machine.Memory, tt.workload, w.Space())
		}
		for _, p := range []*Plan{small, full} {
			w, _ := p.Workload(tt.workload)
			if got := float64(w.Space()) / float64(p.Machine.Memory); got < tt.ratio*0.99 || got > tt.ratio*1.01 {
				t.Errorf("%s at scale %s: %s fills %g times the memory, want %g", tt.name, p.Scale, tt.workload, got, tt.ratio)
			}
		}
		if Estimate(full, AssumedOverhead("kvm")) <= Estimate(small, AssumedOverhead("kvm")) && tt.name != "bfq-dsync-2019" {
			t.Errorf("%s takes no longer at full size", tt.name)
		}
	}
}

func TestShrink(t *testing.T) {
	text, _ := Embedded("postgres-2014")
	p := load(t, string(WithScale(text, "1/8")))
	d := p.Drives["nlsas"]
	if p.Machine.Memory != 2*unit.GiB || d.ControllerCache != 64*unit.MiB || d.Size != 16*unit.GiB {
		t.Errorf("memory %s, cache %s, drive %s", p.Machine.Memory, d.ControllerCache, d.Size)
	}
	if got := string(WithScale([]byte("name: a\nscale: 1/16 # so\nrepeat: 3"), "1")); got != "name: a\nscale: 1\nrepeat: 3" {
		t.Errorf("%q", got)
	}
	if got := string(WithScale([]byte("name: a"), "1/2")); got != "name: a\nscale: 1/2\n" {
		t.Errorf("%q", got)
	}
	// A workload that cannot be scaled is a mistake at its place.
	bad := strings.Replace(string(text), "  - ioperf: {data: 48GiB", "  - command: {run: x}\n  - ioperf: {data: 48GiB", 1)
	if _, err := Load("p.yaml", []byte(bad)); err == nil || !strings.Contains(err.Error(), "command: cannot be scaled") {
		t.Errorf("%v", err)
	}
}

func TestArmSettings(t *testing.T) {
	text, _ := Embedded("bfq-dsync-2019")
	p := load(t, string(text))
	j, err := jobOf(&Kit{}, p, Layout(p)[0].Cells[0])
	if err == nil {
		err = j.Validate()
	}
	if err != nil || j.Set.Iosched["bfq"]["low_latency"] == "" || j.Workload.Settings == nil {
		t.Errorf("%+v, %v", j, err)
	}
	for change, want := range map[string]string{
		"iosched: {cfg: {slice_idle: 0}}":      `unknown scheduler "cfg"`,
		"iosched: {kyber: {read_lat_nsec: 1}}": "iosched: no condition has the scheduler kyber",
		"iosched: {bfq: {../x: 1}}":            `iosched: "../x" is no name of a setting`,
		"cgroup: {version: 1}":                 "cgroup: is set twice, by the arm and by the workload",
		"bdi: {a/../b: 1}":                     "is no name of a setting",
		"mkfs: {ext5: -O x}":                   `unknown filesystem "ext5"`,
		"memory: 1MiB":                         "memory",
		"cpus: 999":                            "cpus 999: a guest takes from 1 to 255",
		"trace: [a.b]":                         "trace:",
	} {
		bad := strings.Replace(string(text), "low-latency: {kernel: linux, iosched: {bfq: {low_latency: 1}}}", "low-latency: {kernel: linux, "+change+"}", 1)
		if _, err := Load("p.yaml", []byte(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", change, err, want)
		}
	}
}

// A drive with another rate for small plans has it in those only.
func TestScaledMediaRate(t *testing.T) {
	for scale, want := range map[string]unit.Rate{"1": 0, "1/2": 15_000_000, "2": 0} {
		p := load(t, `name: n
scale: `+scale+`
kernels: {k: {deb: linux-image-6.12-amd64}}
drives: {d: {profile: sata-7200, scaled-media-rate: 15MB/s}}
arms: {a: {kernel: k}}
conditions: {filesystem: [ext4], scheduler: [none]}
workloads: [{dd: {size: 1GiB}}]
`)
		if got := p.Drives["d"].MediaRate; got != want {
			t.Errorf("scale %s: %s, want %s", scale, got, want)
		}
	}
}
