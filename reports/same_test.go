package reports

import (
	"fmt"
	"strings"
	"testing"

	"spindle/reports/record"
)

// Equal figures are no second measurement where they had to be equal.
func TestSameAgain(t *testing.T) {
	made := func(accel string, seed uint64, off float64) *Report {
		m := testManifest("same", "vanilla", "wbt")
		m.Machine.Accel, m.Seed = accel, seed
		cross(&m, 3, []string{"sata"}, []string{"ext4"}, []string{"bfq"}, dd)
		run := create(t, m)
		fill(t, run, func(block int, c record.Cell) []float64 {
			return []float64{88 * noise(0.01, block, c), 1e8 + off}
		}, nil)
		r, err := Open(run.Dir())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	then := made("virtual", 1, 0)
	for name, tt := range map[string]struct {
		then, now *Report
		want      bool
	}{
		"the same":         {then, made("virtual", 1, 0), true},
		"another metric":   {then, made("virtual", 1, 1e-6), false},
		"another seed":     {then, made("virtual", 2, 0), false},
		"not virtual time": {made("kvm", 1, 0), made("kvm", 1, 0), false},
	} {
		h := Again(tt.then, tt.now)
		checkText(t, h.Text)
		if got := strings.Contains(unwrapped([]byte(h.Text)), "no second measurement"); got != tt.want {
			t.Errorf("%s: said %v, want %v:\n%s", name, got, tt.want, h.Text)
		}
	}
}

// A history counts a run of virtual time once, however often it was made.
func TestHistoryCopies(t *testing.T) {
	for name, tt := range map[string]struct {
		edit    func(night int, m *record.Manifest)
		counted int
	}{
		"same seed":       {func(int, *record.Manifest) {}, 1},
		"another seed":    {func(night int, m *record.Manifest) { m.Seed = uint64(night) }, 3},
		"another kernel":  {func(night int, m *record.Manifest) { m.Kernels[0].Hash = fmt.Sprint("kernel", night) }, 3},
		"another machine": {func(_ int, m *record.Manifest) { m.Machine.Accel = "kvm" }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var dirs []string
			for night := range 3 {
				m := testManifest("nightly", "vanilla", "next")
				m.Machine.Accel = "virtual"
				m.Started = epoch.AddDate(0, 0, night)
				cross(&m, 2, []string{"sata"}, []string{"ext4"}, []string{"bfq"}, dd)
				tt.edit(night, &m)
				run := create(t, m)
				fill(t, run, ddValues(88, nil), func(s *record.Sample) bool {
					s.Started = s.Started.AddDate(0, 0, night)
					return true
				})
				dirs = append(dirs, run.Dir())
			}
			h, err := OpenHistory(dirs)
			if err != nil {
				t.Fatal(err)
			}
			if n := h.counted(); n != tt.counted {
				t.Errorf("%d runs count, want %d", n, tt.counted)
			}
			got := h.Text(true)
			checkText(t, got)
			if !strings.Contains(got, "the baseline over 3 runs: too few runs to tell") {
				t.Error("its title claims to know")
			}
			if said := strings.Count(got, "| = 2026-11-30"); said != 3-tt.counted {
				t.Errorf("%d rows marked", said)
			}
			if t.Failed() {
				t.Log(got)
			}
		})
	}
}
