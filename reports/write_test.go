package reports

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/reports/record"
	"spindle/reports/stat"
)

// written gives the files that Write leaves in a run directory.
func written(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() || slices.Contains([]string{"manifest.json", "plan.yaml", "lock"}, e.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = string(data)
	}
	return got
}

// A report is the same bytes each time, also where the run was moved to.
func TestWriteTwice(t *testing.T) {
	for _, name := range []string{"aa", "broken", "awkward", "nothing-yet"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := runs[name](t).Dir()
			if _, err := Write(dir); err != nil {
				t.Fatal(err)
			}
			first := written(t, dir)
			moved := filepath.Join(t.TempDir(), "elsewhere")
			if err := os.CopyFS(moved, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			if _, err := Write(moved); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(first, written(t, moved)); d != "" {
				t.Errorf("the second report differs:\n%.2000s", d)
			}
			checkText(t, first["report.md"])
			for file, data := range first {
				checkFile(t, file, data, first)
			}
			if out := os.Getenv("SPINDLE_TEST_PLOTS"); out != "" { // to look at them
				for file, data := range first {
					if err := os.MkdirAll(filepath.Join(out, name), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(out, name, file), []byte(data), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// checkFile parses what Write wrote.
func checkFile(t *testing.T, name, data string, all map[string]string) {
	t.Helper()
	switch filepath.Ext(name) {
	case ".png":
		img, err := png.Decode(strings.NewReader(data))
		if err != nil || img.Bounds().Dx() != 1008 {
			t.Errorf("%s: %v, not a picture of 7 inches at 144 dpi", name, err)
		}
	case ".svg":
		d := xml.NewDecoder(strings.NewReader(data))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
		}
		if _, ok := all[strings.TrimSuffix(name, "svg")+"png"]; !ok {
			t.Errorf("%s has no PNG beside it", name)
		}
		flat := strings.Join(strings.Fields(all["report.md"]), "")
		if !strings.Contains(flat, name) {
			t.Errorf("the report does not name %s", name)
		}
	}
}

func TestCSV(t *testing.T) {
	r := brokenRun(t)
	if _, err := Write(r.Dir()); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(written(t, r.Dir())["values.csv"])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	samples, err := r.Samples()
	if err != nil {
		t.Fatal(err)
	}
	var want [][]string
	for _, s := range samples {
		c := s.Condition
		head := []string{strconv.Itoa(s.Block), c.Drive, c.Filesystem, c.Scheduler, c.Workload, s.Arm, s.Outcome.Kind, s.Outcome.Reason}
		for _, m := range s.Metrics {
			want = append(want, slices.Concat(head, []string{m.Name, m.Unit, string(m.Direction), strconv.FormatFloat(m.Value, 'g', -1, 64)}))
		}
		if len(s.Metrics) == 0 {
			want = append(want, slices.Concat(head, []string{"", "", "", ""}))
		}
	}
	if d := cmp.Diff(want, lines[1:]); d != "" {
		t.Errorf("values.csv (-want +got):\n%s", d)
	}
}

// The change of each pair of cells in the mail is what its reader works out
// from the means: 101.78 / 87.51 and so on.
func TestKaraAgreesWithTheMail(t *testing.T) {
	report, err := Markdown(karaRun(t))
	if err != nil {
		t.Fatal(err)
	}
	mean := func(v ...float64) float64 { return (v[0] + v[1] + v[2]) / 3 }
	vanilla, vanillaFsync := mean(87.9611, 87.3279, 87.2554), mean(93.3502, 93.2086, 93.541)
	for arm, want := range map[string][2]float64{
		"wbt cfq":      {mean(108.183, 97.184, 99.9587)/vanilla - 1, mean(104.9, 102.775, 102.892)/vanillaFsync - 1},
		"wbt deadline": {mean(100.417, 100.643, 100.866)/vanilla - 1, mean(104.208, 106.341, 105.483)/vanillaFsync - 1},
	} {
		_, section, ok := strings.Cut(string(report), "\n"+arm+" against vanilla:\n")
		if !ok {
			t.Fatalf("report has no table of %s", arm)
		}
		for i, what := range []string{"| dd runtime ", "| dd-fsync runtime "} {
			_, rest, _ := strings.Cut(section, what)
			_, rest, _ = strings.Cut(rest, "+")
			text, _, _ := strings.Cut(rest, " ")
			got, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			digits := 0
			if _, after, ok := strings.Cut(text, "."); ok {
				digits = len(after)
			}
			if text != strconv.FormatFloat(100*want[i], 'f', digits, 64) {
				t.Errorf("%s, %s changes by %+.*f %%, the mail's means by %+.3f %%", arm, strings.Trim(what, "| "), digits, got, 100*want[i])
			}
		}
	}
}

func TestSummary(t *testing.T) {
	for name, want := range map[string]struct {
		line    string
		failed  bool
		primary map[stat.Kind]int
	}{
		"kara":           {"wbt cfq worse in 2 of 2, wbt deadline worse in 2 of 2 vs vanilla", true, map[stat.Kind]int{stat.Worse: 4}},
		"broken":         {"wbt-v6: breaks in 2 of 6 conditions, baseline broke in 1, worse in 2", true, map[stat.Kind]int{stat.Broken: 2, stat.Worse: 2, stat.NoChange: 1}},
		"aa":             {"control: A/A: no change in 3 of 4 conditions, undecided in 1", false, map[stat.Kind]int{stat.NoChange: 3, stat.Undecided: 1}},
		"cpu-bound":      {"emulated: linux-6.12 against linux-6.1: better in 2 of 2 conditions", false, map[stat.Kind]int{stat.Better: 2}},
		"alone":          {"alone: vanilla alone: breaks in 1 of 2 conditions", true, map[stat.Kind]int{stat.Broken: 1}},
		"baseline-broke": {"first: b against a: baseline broke in 1 of 1 condition", false, map[stat.Kind]int{}},
		"both-broke":     {"breaks in 1 of 4 conditions, both broke in 1, baseline broke in 1", true, map[stat.Kind]int{stat.Broken: 2, stat.NoChange: 1}},
		"rest":           {"rest: wbt against vanilla: both broke in 1 of 2 conditions, worse in 1", true, map[stat.Kind]int{stat.Broken: 1, stat.Worse: 1}},
		"mistake":        {"tuned plan at fault in 2 of 2, both plan at fault in 2 of 2 vs vanilla", false, map[stat.Kind]int{}},
		"nothing-yet":    {"nothing-yet: wbt against vanilla: nothing to compare yet (partial)", false, map[stat.Kind]int{}},
	} {
		s, err := Write(runs[name](t).Dir())
		if err != nil {
			t.Fatal(err)
		}
		if s.Line() != want.line || s.Failed() != want.failed {
			t.Errorf("%s: %q, failed %v\nwant %q, failed %v", name, s.Line(), s.Failed(), want.line, want.failed)
		}
		if d := cmp.Diff(want.primary, s.Primary); d != "" {
			t.Errorf("%s: verdicts (-want +got):\n%s", name, d)
		}
	}
}

// A setting that one kernel of two lacks is that kernel's; a mount that fails
// without options of the plan's, too; and what an arm not yet run has is not
// known.
func TestNoMistake(t *testing.T) {
	setting := record.Outcome{Kind: record.KernelFault, Reason: "setting", Detail: "setting: set vm.nope: this kernel has no /proc/sys/vm/nope"}
	mount := record.Outcome{Kind: record.KernelFault, Reason: "mount", Detail: "mount: exit status 32"}
	for name, edit := range map[string]func(*record.Sample) bool{
		"one has it": func(s *record.Sample) bool {
			if s.Arm == "tuned" {
				s.Outcome = setting
			}
			return true
		},
		"no options": func(s *record.Sample) bool { s.Outcome = mount; return true },
		"not yet":    func(s *record.Sample) bool { s.Outcome = setting; return s.Arm == "tuned" },
		"got past it once": func(s *record.Sample) bool {
			if s.Block != 2 {
				s.Outcome = setting
			}
			return true
		},
	} {
		m := testManifest("n", "vanilla", "tuned")
		for i := range m.Arms {
			m.Arms[i].Sysctl = map[string]string{"vm.nope": "1"}
		}
		cross(&m, 3, []string{"sata"}, []string{"ext4"}, []string{"bfq"}, dd)
		r := create(t, m)
		fill(t, r, ddValues(88, nil), edit)
		sum, err := Write(r.Dir())
		if err != nil || len(sum.PlanMistakes) > 0 {
			t.Errorf("%s: %v, %v", name, sum.PlanMistakes, err)
		}
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	for name, absent := range map[string][]string{
		"baseline-broke": {"machinery", "model error", "replies late", "[2]"},
		"alone":          {"attempts/", "compared with nothing"},
		"partial":        {"interrupted"},
	} {
		report, err := Markdown(runs[name](t))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range absent {
			if strings.Contains(string(report), x) {
				t.Errorf("%s: the report speaks of %q", name, x)
			}
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	if _, err := Write(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("report of no run: %v", err)
	}
	r := aloneRun(t)
	path := filepath.Join(r.SampleDir(1, r.Manifest().Blocks[0][0]), "sample.json")
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(r.Dir()); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("report of a corrupt run: %v, want an error that names %s", err, path)
	}
	if _, err := os.Stat(filepath.Join(r.Dir(), "report.md")); err == nil {
		t.Error("a corrupt run has a report")
	}
}

// FuzzCounters feeds the readers of the guest's counters any bytes.
func FuzzCounters(f *testing.F) {
	s := record.Sample{Block: 1, Metrics: []record.Metric{{Value: 90}}}
	for _, data := range ddCounters(s) {
		f.Add([]byte(data))
	}
	f.Add([]byte(`{"t":1,"write_sectors":18446744073709551615}` + "\n" + `{"t":2,"write_sectors":0,"nr_dirty":18446744073709551615}` + "\n"))
	f.Add([]byte(`{"t":1e308}` + "\n" + `{"t":-1e308}` + "\n\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c counters
		if err := errors.Join(c.diskstats(bytes.NewReader(data)), c.vmstat(bytes.NewReader(data))); err != nil {
			t.Fatal(err)
		}
		for _, s := range []struct{ x, y []float64 }{{c.written.X, c.written.Y}, {c.read.X, c.read.Y}, {c.dirty.X, c.dirty.Y}} {
			if len(s.x) != len(s.y) || !slices.IsSorted(s.x) {
				t.Errorf("series is not one: %v %v", s.x, s.y)
			}
			for _, y := range s.y {
				if !(y >= 0) {
					t.Errorf("a rate or an amount of %v", y)
				}
			}
		}
	})
}

func TestCounters(t *testing.T) {
	dir := t.TempDir()
	disk := `{"t":0,"read_sectors":8,"write_sectors":0}
{"t":2,"read_sectors":8,"write_sectors":117188}
{"t":2,"read_sectors":8,"write_sectors":117189}
{"t":3,"read_sectors":8,"write_sectors":7}
{"t":4,"read_sectors":1961,"write_sectors":7}
{"t":5,"read_se`
	for name, data := range map[string]string{record.Diskstats: disk, record.Vmstat: `{"t":0,"nr_dirty":256,"nr_writeback":256}` + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readCounters(dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	// 117188 sectors of 512 bytes in 2 s are 30.000 MB/s; a count that falls
	// gives no point; 1953 sectors in 1 s are 0.9999 MB/s; 512 pages are 2 MiB.
	near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-3 && b-a < 1e-3 })
	if d := cmp.Diff([]float64{1, 3.5}, got.written.X); d != "" {
		t.Errorf("times:\n%s", d)
	}
	if d := cmp.Diff([]float64{30, 0}, got.written.Y, near); d != "" {
		t.Errorf("written:\n%s", d)
	}
	if d := cmp.Diff([]float64{0, 1}, got.read.Y, near); d != "" {
		t.Errorf("read:\n%s", d)
	}
	if d := cmp.Diff([]float64{2}, got.dirty.Y); d != "" || got.dirty.Arm != 1 {
		t.Errorf("dirty:\n%s", d)
	}
	if empty, err := readCounters(t.TempDir(), 0); err != nil || len(empty.written.X) != 0 {
		t.Errorf("no counters: %v, %v", empty, err)
	}
}
