package pipeline

import (
	"os"
	"path/filepath"
	"testing"

	"spindle/pipeline/guest"
	"spindle/reports/record"
)

// satalike is a plan for the drive of the name, as it is in full size, reached
// as a SATA disk is.
const satalike = `
name: sata
kernels:
  cloud: {deb: linux-image-6.12-cloud-amd64}
drives:
  sata: {profile: sata-7200, queue-depth: 1, bus: ahci}
arms:
  base: {kernel: cloud}
conditions:
  filesystem: [none]
  scheduler: [none]
workloads:
  - name: randread
    fio:
      on: device
      options: {rw: randread, bs: 4k, direct: 1, ioengine: psync, time_based: 1, runtime: 10, norandommap: 1}
machine: {memory: 384MiB, accel: tcg}
repeat: 1
`

// The disk on the label is the disk that the guest finds.
func TestSATADrive(t *testing.T) {
	env, _, _ := booting(t)
	p := mustLoad(t, satalike)
	kit, err := Prepare(t.Context(), env, p)
	if err != nil {
		t.Fatal(err)
	}
	var r rig
	defer r.Close()
	cell := Layout(p)[0].Cells[0]
	if err := r.bringUp(t.Context(), env, kit, p, 1, cell, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if j, err := r.begin(t.Context(), kit, p, cell); err != nil || !j.ready {
		t.Fatalf("set up: %+v, %v", j, err)
	}
	for command, want := range map[string]string{
		"lsblk -dnro ROTA,TRAN,SIZE /dev/sda":                  "1 sata 465.8G\n", // 500.1 GB
		"cat /sys/block/sda/queue/write_cache":                 "write back\n",
		"cat /sys/block/sda/device/queue_depth":                "1\n",
		"cat /sys/block/sda/queue/rotational":                  "1\n",
		"basename $(readlink -f /sys/block/sda/device/driver)": "sd\n",
	} {
		res, err := r.guest.Run(t.Context(), guest.Command{Line: command})
		if err != nil || string(res.Stdout) != want {
			t.Errorf("%s: %q, %v; want %q", command, res.Stdout, err, want)
		}
	}
}

// BenchmarkRandomRead holds fio in a guest against the arithmetic of the drive:
// the ratio should lie within 10 % of 1.
func BenchmarkRandomRead(b *testing.B) {
	env, _, _ := booting(b)
	p := mustLoad(b, satalike)
	kit, err := Prepare(b.Context(), env, p)
	if err != nil {
		b.Fatal(err)
	}
	if err := kit.gauge(b.Context(), env, p); err != nil {
		b.Fatal(err)
	}
	expected := p.Drives["sata"].RandomReadMean4K().Seconds()
	for b.Loop() {
		s := bench(b, env, kit, p)
		for _, m := range s.Metrics {
			if m.Name == "read mean" {
				b.ReportMetric(m.Value*1e3, "fio-ms")
				b.ReportMetric(m.Value/expected, "of-expected")
			}
		}
	}
	b.ReportMetric(expected*1e3, "expected-ms")
	b.ReportMetric(kit.Early["sata"].Read.Small.Seconds()*1e3, "early-ms")
}

// BenchmarkSample shows what a sample costs beside its workload: the time until
// the guest answers over SSH, and what spindle adds to boot and workload (mkfs,
// mount and collecting included). Meant for an idle host.
func BenchmarkSample(b *testing.B) {
	env, kit, p := booting(b)
	var boot, added float64
	n := 0
	for b.Loop() {
		s := bench(b, env, kit, p)
		boot += s.BootSeconds
		added += s.TotalSeconds - s.BootSeconds - s.WorkloadSeconds
		n++
	}
	b.ReportMetric(boot/float64(n), "boot-s")
	b.ReportMetric(added/float64(n), "added-s")
}

func bench(b *testing.B, env Env, kit *Kit, p *Plan) record.Sample {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "sample")
	if err := os.Mkdir(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	cell := record.Cell{Arm: p.Arms[0].Name, Condition: p.Grid()[0]}
	s, err := carryOut(b.Context(), env, kit, p, 1, cell, dir)
	if err != nil || s.Outcome.Kind != record.OK {
		b.Fatalf("%+v, %v", s.Outcome, err)
	}
	return s
}
