package reports

import (
	"fmt"
	"testing"
)

// A run of 10,000 samples: 2 arms under 500 conditions in 10 blocks. A report
// of it is to take 3 s and 500 MB at most.
func BenchmarkTenThousandSamples(b *testing.B) {
	m := testManifest("large", "vanilla", "wbt")
	var drives, schedulers []string
	for i := range 25 {
		drives = append(drives, fmt.Sprintf("drive%d", i))
	}
	for i := range 5 {
		schedulers = append(schedulers, fmt.Sprintf("scheduler%d", i))
	}
	cross(&m, 10, drives, []string{"ext4", "xfs"}, schedulers, dd, ddFsync)
	r := create(b, m)
	fill(b, r, ddValues(88, nil), nil)
	b.ReportAllocs()
	for b.Loop() {
		report, err := Open(r.Dir())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := report.Render("md", false); err != nil {
			b.Fatal(err)
		}
	}
}
