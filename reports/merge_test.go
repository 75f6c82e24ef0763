package reports

import (
	"strings"
	"testing"
	"time"

	"spindle/reports/record"
	"spindle/reports/stat"
)

// twoBlocks is a run of two blocks on one host: too few to decide.
func twoBlocks(t *testing.T, days int, edit func(*record.Manifest)) string {
	m := testManifest("pair", "vanilla", "wbt")
	m.Started = m.Started.AddDate(0, 0, days)
	cross(&m, 2, []string{"sata"}, []string{"ext4"}, []string{"bfq"}, dd)
	if edit != nil {
		edit(&m)
	}
	r := create(t, m)
	fill(t, r, func(block int, c record.Cell) []float64 {
		s := 80 * float64(days+2) * noise(0.005, block+10*days, c) // each host at its own speed
		if c.Arm == "wbt" {
			s *= 1.1
		}
		return []float64{s, 10000 << 20 / s}
	}, func(s *record.Sample) bool {
		s.Started = s.Started.Add(time.Duration(days) * 24 * time.Hour)
		return true
	})
	return r.Dir()
}

func TestMerge(t *testing.T) {
	one, two := twoBlocks(t, 0, nil), twoBlocks(t, 1, func(m *record.Manifest) { m.Machine.Host.CPU = "AMD EPYC" })
	alone, err := Open(one)
	if err != nil {
		t.Fatal(err)
	}
	if s := alone.Summary(); s.Primary[stat.Undecided] != 1 {
		t.Errorf("two blocks alone: %+v", s)
	}
	r, err := Merge([]string{one, two})
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Summary(); s.Primary[stat.Worse] != 1 || s.Done != 8 || s.Planned != 8 {
		t.Errorf("four blocks of two hosts: %+v", s)
	}
	out, err := r.Render("md", false)
	if err != nil {
		t.Fatal(err)
	}
	checkText(t, string(out))
	for _, want := range []string{"AMD EPYC", "Intel(R) Xeon(R)", "b4"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("merged report has no %q:\n%s", want, out)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	one := twoBlocks(t, 0, nil)
	for name, tt := range map[string]struct {
		edit func(*record.Manifest)
		want []string
	}{
		"plan":        {func(m *record.Manifest) { m.Plan.Text += "seed: 2\n" }, []string{"plans differ"}},
		"accelerator": {func(m *record.Manifest) { m.Machine.Accel = "tcg" }, []string{"the accelerator differs: kvm and tcg"}},
		"memory":      {func(m *record.Manifest) { m.Machine.MemoryBytes = 1 << 30 }, []string{"memory in bytes differs: 4294967296 and 1073741824"}},
		"image":       {func(m *record.Manifest) { m.Image.Hash = strings.Repeat("ab", 32) }, []string{"image differs"}},
		"kernel":      {func(m *record.Manifest) { m.Kernels[1].Hash = strings.Repeat("cd", 32) }, []string{"kernel patched differs: 77d01c2b77d0 and cdcdcdcdcdcd"}},
		"drive":       {func(m *record.Manifest) { m.Drives[0].Params[0].Text = "5400 rpm" }, []string{"drive sata differs: rotation is 7200 rpm and 5400 rpm"}},
		"several": {func(m *record.Manifest) { m.Machine.CPUs, m.Machine.QEMU = 8, "9.0" },
			[]string{"guest CPUs differs: 2 and 8", "QEMU differs: 7.2.22 and 9.0"}},
		"auto": {func(m *record.Manifest) { m.Auto = &record.Auto{Most: 10} }, []string{"stopped because of its samples"}},
	} {
		_, err := Merge([]string{one, twoBlocks(t, 1, tt.edit)})
		for _, want := range tt.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", name, err, want)
			}
		}
	}
	virtual := func(m *record.Manifest) { m.Machine.Accel = "virtual" }
	if _, err := Merge([]string{twoBlocks(t, 0, virtual), twoBlocks(t, 1, virtual)}); err == nil || !strings.Contains(err.Error(), "of one seed in virtual time") {
		t.Errorf("the same in virtual time: %v", err)
	}
	if _, err := Merge([]string{one, one}); err == nil || !strings.Contains(err.Error(), "one run") {
		t.Errorf("a run with itself: %v", err)
	}
	if _, err := Merge([]string{one, twoBlocks(t, 0, nil)}); err == nil || !strings.Contains(err.Error(), "copy") {
		t.Errorf("a run with its copy: %v", err)
	}
}
