package pipeline

import (
	"strings"
	"testing"
	"time"

	"spindle/internal/fault"
	"spindle/internal/unit"
	"spindle/pipeline/drive"
	"spindle/reports/record"
)

// virtualPlan is one that loads; tests change it.
const virtualPlan = `
name: v
kernels:
  um: {deb: linux-source-6.12, arch: um}
drives:
  sata: {profile: sata-7200, queue-depth: 1}
arms:
  base: {kernel: um}
conditions:
  filesystem: [ext4]
  scheduler: [mq-deadline]
workloads:
  - dd: {size: 16MiB, conv: fsync}
machine: {time: virtual, memory: 256MiB}
`

func TestVirtualPlan(t *testing.T) {
	p, err := Load("v.yaml", []byte(virtualPlan))
	if err != nil {
		t.Fatal(err)
	}
	if !p.Virtual() || p.Drives["sata"].Bus != drive.VirtioSCSI {
		t.Errorf("virtual %v, bus %q; want true and virtio-scsi", p.Virtual(), p.Drives["sata"].Bus)
	}
	for _, tt := range []struct{ name, old, new, want string }{
		{"package", "deb: linux-source-6.12, arch: um", "deb: linux-image-6.12-amd64", "kernel um is for a machine, and machine: {time: virtual} runs a kernel as a program: build it from source with arch: um"},
		{"real time", "time: virtual, ", "", "kernel um is a program of the host (arch: um): it wants machine: {time: virtual}"},
		{"time", "time: virtual", "time: imaginary", `time "imaginary"`},
		{"cpus", "memory: 256MiB", "cpus: 2", "cpus 2: a guest in virtual time has one"},
		{"accelerator", "memory: 256MiB", "accel: kvm", "accel kvm: in virtual time a kernel runs as a program of the host"},
		{"faults", "queue-depth: 1", "faults: [{eio: {from: 4KiB, length: 4KiB}}]", "drive sata fails requests: in virtual time drives have spikes and stalls only"},
		{"bus", "queue-depth: 1", "bus: ahci", "bus ahci: virtual time has virtio-scsi"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(virtualPlan, tt.old, tt.new, 1)
			if text == virtualPlan {
				t.Fatal("nothing was replaced")
			}
			_, err := Load("v.yaml", []byte(text))
			if err == nil || fault.Of(err) != fault.Plan || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one of the plan with %q", err, tt.want)
			}
		})
	}
}

// Nobody can speak to such a guest.
func TestVirtualShell(t *testing.T) {
	p, err := Load("v.yaml", []byte(virtualPlan))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Shell(t.Context(), Env{}, p, record.Cell{}, nil, nil); fault.Of(err) != fault.Plan {
		t.Errorf("error %v, want one of the plan", err)
	}
}

// What varies between blocks does, and is the same each time.
func TestVirtualSeeds(t *testing.T) {
	a, b := seedsOf(1), seedsOf(2)
	if a != seedsOf(1) || a.entropy == b.entropy || a.phase == b.phase || a.turn == b.turn {
		t.Errorf("seeds %+v and %+v", a, b)
	}
	for seed := range uint64(1000) {
		if s := seedsOf(seed); s.phase < 0 || s.phase >= 5*time.Second || s.turn < 0 || s.turn >= time.Second || s.place < 0 || s.place >= 1 {
			t.Errorf("seed %d: %+v", seed, s)
		}
	}
}

// Where the guest's disk lies varies too, and stays on the drive.
func TestVirtualPlace(t *testing.T) {
	for _, tt := range []struct{ place, size, capacity, want unit.Size }{
		{0, 8 * unit.GiB, 500 * unit.GiB, 0},
		{50, 8 * unit.GiB, 500 * unit.GiB, 2560 * unit.MiB},
		{100, 8 * unit.GiB, 500 * unit.GiB, 5 * unit.GiB},
		{100, 500 * unit.GiB, 500 * unit.GiB, 0},
		{100, 8 * unit.GiB, 8*unit.GiB + 5000*unit.KiB, 4 * unit.MiB},
	} {
		s := virtualSeeds{place: float64(tt.place) / 100}
		if got := s.placeOf(drive.Device{Size: tt.size, Capacity: tt.capacity}); got != tt.want {
			t.Errorf("at %d %% of %v in %v: %v, want %v", tt.place, tt.size, tt.capacity, got, tt.want)
		}
	}
}

// Two runs of a sample are the same only if all of it is.
func TestSameAgain(t *testing.T) {
	sample := func() record.Sample {
		return record.Sample{
			Outcome: record.Outcome{Kind: record.OK},
			Metrics: []record.Metric{{MetricInfo: record.MetricInfo{Name: "runtime"}, Value: 1.5}},
			Virtual: &record.Virtual{Trace: "aa", Requests: 10, WallSeconds: 3},
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*record.Sample)
		want   string
	}{
		{"the same", func(s *record.Sample) { s.Virtual.WallSeconds = 9; s.TotalSeconds = 9 }, ""},
		{"metric", func(s *record.Sample) { s.Metrics[0].Value = 1.500001 }, "metrics"},
		{"trace", func(s *record.Sample) { s.Virtual.Trace = "bb" }, "requests of trace aa"},
		{"outcome", func(s *record.Sample) { s.Outcome.Kind = record.KernelFault }, "outcome ok"},
	} {
		other := sample()
		tt.change(&other)
		err := sameAgain(sample(), other)
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || fault.Of(err) != fault.Machinery) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
