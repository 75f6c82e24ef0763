package uml_test

import (
	"fmt"
	"testing"
	"time"

	"spindle/internal/unit"
	"spindle/pipeline/drive"
	"spindle/pipeline/machine"
	"spindle/pipeline/machine/uml"
)

// BenchmarkServer is what our side of a request costs, with a stand-in for the
// kernel that does nothing else: 4 KiB reads, one at a time.
func BenchmarkServer(b *testing.B) {
	for _, profile := range []string{"raw", "sata-7200"} {
		b.Run(profile, func(b *testing.B) {
			const requests = 20000
			var rep *uml.Report
			for range b.N {
				cfg := fakeConfig(b, "job")
				cfg.Append = append(cfg.Append, fmt.Sprint("requests=", requests))
				cfg.Drives[0].Spec = drive.Spec{Profile: profile, Bus: drive.VirtioSCSI, Size: 4 * unit.GiB}
				var err error
				if rep, err = uml.Run(b.Context(), cfg); err != nil || rep.Ending.Reason != machine.Stopped {
					b.Fatal(err, rep)
				}
			}
			b.ReportMetric(float64(rep.Wall.Microseconds())/requests, "µs/request")
			b.ReportMetric(float64(rep.Turns)/rep.Wall.Seconds(), "turns/s")
			b.ReportMetric(rep.Virtual.Seconds(), "virtual-s")
		})
	}
}

// BenchmarkRequests is the cost of virtual time: single requests past the page
// cache of a drive without timing and of a modelled disk, in both forms of the
// protocol.
func BenchmarkRequests(b *testing.B) {
	for _, bb := range []struct {
		name     string
		profile  string
		messages bool
	}{{"raw", "raw", false}, {"sata-7200", "sata-7200", false}, {"sata-7200-messages", "sata-7200", true}} {
		b.Run(bb.name, func(b *testing.B) {
			const requests = 5000
			var rep *uml.Report
			for range b.N {
				cfg := config(b, "job")
				cfg.Append = append(cfg.Append, fmt.Sprint("requests=", requests))
				cfg.MessagesOnly = bb.messages
				cfg.Drives[0].Spec = drive.Spec{Profile: bb.profile, Bus: drive.VirtioSCSI, Size: 4 * unit.GiB}
				var err error
				if rep, err = uml.Run(b.Context(), cfg); err != nil || rep.Ending.Reason != machine.Stopped {
					b.Fatal(err, rep)
				}
			}
			b.ReportMetric(float64(requests)/rep.Wall.Seconds(), "requests/s")
			b.ReportMetric(float64(rep.Turns)/rep.Wall.Seconds(), "turns/s")
			b.ReportMetric(rep.Wall.Seconds()/rep.Virtual.Seconds(), "wall/virtual")
			b.ReportMetric(float64(rep.Virtual)/float64(time.Second), "virtual-s")
		})
	}
}
