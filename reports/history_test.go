package reports

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
	"spindle/reports/record"
)

// nightly makes runs of one plan on so many nights. factor gives how long dd
// takes, as a share of 88 s; edit changes a night's manifest.
func nightly(t *testing.T, nights int, factor func(night int, c record.Condition) float64, edit func(night int, m *record.Manifest)) []string {
	t.Helper()
	var dirs []string
	for night := range nights {
		m := testManifest("nightly", "vanilla", "next")
		m.Started = epoch.AddDate(0, 0, night)
		m.Kernels[0].Version = "6.12.57"
		if night >= 6 {
			m.Kernels[0].Version, m.Kernels[0].Hash = "6.12.58", strings.Repeat("b", 64)
		}
		cross(&m, 3, []string{"sata"}, []string{"ext4", "xfs"}, []string{"bfq"}, dd)
		if edit != nil {
			edit(night, &m)
		}
		dir := filepath.Join(t.TempDir(), fmt.Sprintf("night-%02d", night))
		r, err := record.Create(dir, m)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, r, func(block int, c record.Cell) []float64 {
			s := 88 * noise(0.004, 100*night, record.Cell{Condition: c.Condition}) * noise(0.003, block+10*night, c) * factor(night, c.Condition)
			return []float64{s, 10000 << 20 / s}
		}, func(s *record.Sample) bool {
			s.Started = s.Started.AddDate(0, 0, night)
			return s.Block < 3 || night != 2 // one was interrupted
		})
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// slower is a baseline whose ext4 takes 9 % longer from night 6 on.
func slower(night int, c record.Condition) float64 {
	if night >= 6 && c.Filesystem == "ext4" {
		return 1.09
	}
	return 1
}

func TestHistoryGolden(t *testing.T) {
	dirs := nightly(t, 10, slower, nil)
	// The order of the command line does not matter.
	h, err := OpenHistory(append(dirs[5:], dirs[:5]...))
	if err != nil {
		t.Fatal(err)
	}
	if h.Changes() != 1 || len(h.tracks[0].changes) != 1 || h.tracks[0].changes[0].run != 6 {
		t.Errorf("%d changes, of the first condition %+v; want one at run 6", h.Changes(), h.tracks[0].changes)
	}
	if c := h.tracks[0].changes[0]; c.Low > 0.09 || c.High < 0.09 {
		t.Errorf("change %v (%v, %v) leaves out the true 9 %%", c.Diff, c.Low, c.High)
	}
	for name, got := range map[string]string{"history.txt": h.Text(false), "history.md": h.Text(true)} {
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 72 {
				t.Errorf("%s: line of %d columns: %q", name, n, line)
			}
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	out := t.TempDir()
	if err := h.WriteTo(out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"history.md", "history.html", "history_sata_ext4_bfq_dd.svg", "history_sata_xfs_bfq_dd.png"} {
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() < 500 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Nothing changed: nothing is claimed, and what few runs can tell is said.
func TestHistoryQuiet(t *testing.T) {
	still := func(int, record.Condition) float64 { return 1 }
	h, err := OpenHistory(nightly(t, 8, still, nil))
	if err != nil {
		t.Fatal(err)
	}
	if h.Changes() != 0 {
		t.Errorf("changes where nothing changed:\n%s", h.Text(false))
	}
	if h, err = OpenHistory(nightly(t, 3, slower, nil)); err != nil {
		t.Fatal(err)
	}
	if s := h.Text(false); !strings.Contains(s, "3 runs are too few") {
		t.Errorf("it does not say that 3 runs are too few:\n%s", s)
	}
}

func TestHistoryRefuses(t *testing.T) {
	still := func(int, record.Condition) float64 { return 1 }
	for name, tt := range map[string]struct {
		edit func(m *record.Manifest)
		want string // "" is none
	}{
		"accelerator":        {func(m *record.Manifest) { m.Machine.Accel = "tcg" }, "the accelerator differs: kvm and tcg"},
		"memory":             {func(m *record.Manifest) { m.Machine.MemoryBytes = 1 << 30 }, "the guests' memory in bytes differs"},
		"image":              {func(m *record.Manifest) { m.Image.Hash = strings.Repeat("f", 64) }, "the guests' image differs"},
		"drive":              {func(m *record.Manifest) { m.Drives[0].Model = "another" }, "drive sata differs"},
		"host":               {func(m *record.Manifest) { m.Machine.Host.CPU = "another" }, "the host differs"},
		"settings":           {func(m *record.Manifest) { m.Arms[0].Sysctl = map[string]string{"vm.dirty_ratio": "5"} }, "the baselines have different settings"},
		"another plan":       {func(m *record.Manifest) { m.Name = "weekly" }, "the plans have different names"},
		"the kernel may":     {func(m *record.Manifest) { m.Kernels[0].Hash = strings.Repeat("c", 64) }, ""},
		"the plan's rev may": {func(m *record.Manifest) { m.Plan.Text += "# a comment\n" }, ""},
		"the host's may":     {func(m *record.Manifest) { m.Machine.Host.Kernel = "6.12.1" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := OpenHistory(nightly(t, 2, still, func(night int, m *record.Manifest) {
				if night == 1 {
					tt.edit(m)
				}
			}))
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("error %v", err)
			case tt.want != "" && (err == nil || fault.Of(err) != fault.Plan || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want one of the plan with %q", err, tt.want)
			}
		})
	}
	dirs := nightly(t, 2, still, func(night int, m *record.Manifest) {
		m.Machine.Accel, m.Machine.Host.CPU = "virtual", fmt.Sprint("host ", night)
	})
	if _, err := OpenHistory(dirs); err != nil {
		t.Errorf("hosts of virtual time: %v", err)
	}
	if _, err := OpenHistory([]string{dirs[0], dirs[0]}); fault.Of(err) != fault.Plan {
		t.Errorf("one run twice: %v", err)
	}
}

// What else changed where the baseline did is named.
func TestHistoryWhat(t *testing.T) {
	h, err := OpenHistory(nightly(t, 10, slower, func(night int, m *record.Manifest) {
		if night >= 6 {
			m.Machine.Host.Kernel = "6.12.1"
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := h.Text(false)
	for _, want := range []string{"6.12.57", "6.12.58", "host's kernel", "6.12.1", epoch.AddDate(0, 0, 6).Format(time.DateOnly)} {
		if !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}
