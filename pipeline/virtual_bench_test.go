package pipeline

import (
	"strings"
	"testing"

	"spindle/reports/record"
)

// BenchmarkVirtual is the cost of virtual time, by plans of full size: what the
// workload took in it, how much of the host's time that needed, and how many
// requests a second. The figures stand in the documentation of package uml. One
// plan:
//
//	SPINDLE_UML_KERNEL=... go test -run - -bench Virtual/mail-000-fsync -benchtime 1x ./pipeline
func BenchmarkVirtual(b *testing.B) {
	for _, bb := range []struct{ name, drive, conditions, workload, machine string }{
		{"mail-000", "{profile: sata-7200, queue-depth: 1, size: 20GiB}", "{filesystem: [ext3], scheduler: [mq-deadline]}",
			"dd: {size: 10000MiB}", "{time: virtual, memory: 4GiB}"},
		{"mail-000-fsync", "{profile: sata-7200, queue-depth: 1, size: 20GiB}", "{filesystem: [ext3], scheduler: [mq-deadline]}",
			"dd: {size: 10000MiB, conv: fsync}", "{time: virtual, memory: 4GiB}"},
		{"torture-fresh", "{profile: sata-7200, queue-depth: 31, size: 32GiB}", "{filesystem: [ext4], scheduler: [mq-deadline]}",
			"fsync-tester: {mode: fresh, file: 8GiB, write: 4KiB, pause: 4s}", "{time: virtual, memory: 1GiB}"},
		{"random-read", "{profile: sata-7200, queue-depth: 1, size: 64GiB}", "{filesystem: [ext4], scheduler: [none]}",
			`fio: {options: {rw: randread, bs: 4k, size: 1g, direct: "1", runtime: "60", time_based: "1"}}`, "{time: virtual, memory: 512MiB}"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			env, p := virtually(b, "name: bench\nkernels: {um: {path: KERNEL, arch: um}}\ndrives: {sata: "+bb.drive+"}\narms: {base: {kernel: um}}\n"+
				"conditions: "+bb.conditions+"\nworkloads:\n- "+bb.workload+"\nmachine: "+bb.machine+"\nrepeat: 1\n")
			kit, err := Prepare(b.Context(), env, p)
			if err != nil {
				b.Fatal(err)
			}
			var s record.Sample
			for b.Loop() {
				if s, err = carryOut(b.Context(), env, kit, p, 1, Layout(p)[0].Cells[0], b.TempDir()); err != nil {
					b.Fatal(err)
				}
			}
			if s.Outcome.Kind != record.OK {
				b.Fatal(s.Outcome)
			}
			v := s.Virtual
			b.ReportMetric(s.Metrics[0].Value, strings.ReplaceAll(s.Metrics[0].Unit+"-"+s.Metrics[0].Name, " ", "-"))
			b.ReportMetric(v.Seconds, "virtual-s")
			b.ReportMetric(v.WallSeconds/v.Seconds, "wall/virtual")
			b.ReportMetric(float64(v.Requests)/v.WallSeconds, "requests/s")
			b.ReportMetric(float64(v.Turns)/v.WallSeconds, "turns/s")
			b.ReportMetric(0, "ns/op") // of the host's, set-up and all: the ratio tells more
		})
	}
}
