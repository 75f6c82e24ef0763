package reports

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spindle/reports/record"
)

// A sample shorter than the samplers' interval has one rate and no line; its
// pages are known at both ends.
func TestOverTimeLeavesOutEmptyPanels(t *testing.T) {
	disk := `{"t":0,"write_sectors":0}` + "\n" + `{"t":0.4,"write_sectors":2000}` + "\n"
	longer := disk + `{"t":0.8,"write_sectors":3000}` + "\n"
	pages := `{"t":0,"nr_dirty":0}` + "\n" + `{"t":0.4,"nr_dirty":256}` + "\n"
	for name, tt := range map[string]struct {
		disk, pages string
		want        []string
	}{
		"one interval":   {disk, pages, []string{"dirty + writeback, MiB"}},
		"two intervals":  {longer, pages, []string{"written, MB/s", "dirty + writeback, MiB"}},
		"nothing to see": {disk, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := testManifest("short", "vanilla")
			cross(&m, 1, []string{"sata"}, []string{"ext4"}, []string{"bfq"}, dd)
			run := create(t, m)
			fill(t, run, ddValues(0.4, nil), nil, func(record.Sample) map[string]string {
				return map[string]string{record.Diskstats: tt.disk, record.Vmstat: tt.pages}
			})
			r, err := Open(run.Dir())
			if err != nil {
				t.Fatal(err)
			}
			g := r.a.groups()[0]
			l, ok, err := r.a.overTime(g, g.conditions[0])
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range l.Panels {
				got = append(got, p.Axis)
			}
			if d := cmp.Diff(tt.want, got); d != "" || ok != (len(tt.want) > 0) {
				t.Errorf("drawn %v, panels (-want +got):\n%s", ok, d)
			}
		})
	}
}

// Where no request was done there is no latency, and no line over it.
func TestBinLeavesGaps(t *testing.T) {
	r := bin([]request{{arrived: 0, done: 1e6}, {arrived: 499e6, done: 500e6}}, 0)
	known := 0
	for _, y := range r.latency.Y {
		if !math.IsNaN(y) {
			known++
		}
	}
	if len(r.latency.Y) != requestBins || known != 2 {
		t.Errorf("%d bins, %d of them with a latency; want %d and 2", len(r.latency.Y), known, requestBins)
	}
}

// Runs below a picture are told apart, by as little as does it.
func TestHistoryMarks(t *testing.T) {
	day, hour := 24*time.Hour, time.Hour
	for name, tt := range map[string]struct {
		after []time.Duration // since 9:12 of 30 November
		want  []string
		below string
	}{
		"days":           {[]time.Duration{0, day}, []string{"2026-11-30", "2026-12-01"}, ""},
		"one day":        {[]time.Duration{0, hour}, []string{"09:12", "10:12"}, "time of day on 2026-11-30, UTC"},
		"days and times": {[]time.Duration{0, hour, day}, []string{"11-30 09:12", "11-30 10:12", "12-01 09:12"}, "month, day and time of day, UTC"},
		"one minute":     {[]time.Duration{0, time.Second, day}, []string{"1", "2", "3"}, "number of the run"},
	} {
		var h History
		for _, d := range tt.after {
			h.runs = append(h.runs, member{manifest: record.Manifest{Started: epoch.Add(d)}})
		}
		got, below := h.marks()
		if d := cmp.Diff(tt.want, got); d != "" || below != tt.below {
			t.Errorf("%s: %q, want %q; (-want +got):\n%s", name, below, tt.below, d)
		}
	}
}
