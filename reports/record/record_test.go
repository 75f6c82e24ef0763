package record

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
	"spindle/internal/proc"
)

// TestMain lets the test binary be another writer: with SPINDLE_TEST_HOLD it
// locks that run, says so, and waits to be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SPINDLE_TEST_HOLD"); dir != "" {
		r, err := Resume(dir)
		if err == nil {
			_, err = r.Begin(1, r.Manifest().Blocks[0][0], 1)
		}
		fmt.Println("held", err)
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

func testManifest() Manifest {
	runtime := MetricInfo{Name: "runtime", Unit: "s", Direction: Lower, Primary: true}
	m := Manifest{
		Name: "wbt", Spindle: "devel", Command: []string{"spindle", "run", "wbt.yaml"},
		Started: time.Date(2026, 11, 30, 12, 0, 0, 123, time.UTC), Seed: math.MaxUint64,
		Plan:    Plan{Path: "wbt.yaml", Text: "name: wbt\n# a comment, <kept> & verbatim\n"},
		Compare: "arm",
		Arms:    []Arm{{Name: "vanilla", Kernel: "base"}, {Name: "wbt", Kernel: "base", Queue: map[string]string{"wbt_lat_usec": "75000"}}},
		Kernels: []Kernel{{Name: "base", Version: "6.12.0", Hash: "ab"}},
		Drives:  []Drive{{Name: "sata", Profile: "sata-7200", QueueDepth: 1, Params: []Param{{Name: "rpm", Text: "7200 rpm", Value: 7200, Unit: "rpm"}}}},
		Workloads: []Workload{
			{Name: "dd", Title: "dd 96 MiB", Metrics: []MetricInfo{runtime}},
		},
	}
	for _, fs := range []string{"xfs", "ext4"} {
		m.Conditions = append(m.Conditions, Condition{Drive: "sata", Filesystem: fs, Scheduler: "bfq", Workload: "dd"})
	}
	for range 2 {
		var b []Cell
		for _, c := range m.Conditions {
			b = append(b, Cell{"wbt", c}, Cell{"vanilla", c})
		}
		m.Blocks = append(m.Blocks, b)
	}
	return m
}

func testSample(seconds float64) Sample {
	return Sample{
		Outcome:  Outcome{Kind: OK},
		Started:  time.Date(2026, 11, 30, 12, 1, 0, 0, time.UTC),
		Metrics:  []Metric{{MetricInfo{Name: "runtime", Unit: "s", Direction: Lower, Primary: true}, seconds, false}},
		Settings: map[string]string{"scheduler": "bfq", "rotational": "1"},
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newRun(t *testing.T) *Run {
	t.Helper()
	r := must[*Run](t)(Create(filepath.Join(t.TempDir(), "run"), testManifest()))
	t.Cleanup(func() { r.Close() })
	return r
}

func commit(t *testing.T, r *Run, block int, c Cell, s Sample) {
	t.Helper()
	d := must[*Draft](t)(r.Begin(block, c, 1))
	if err := d.Commit(s); err != nil {
		t.Fatal(err)
	}
}

func TestRoundTrip(t *testing.T) {
	r := newRun(t)
	want := testManifest()
	want.Format, want.Plan.Hash = Format, hashText(want.Plan.Text)
	reader := must[*Run](t)(Open(r.Dir()))
	if d := cmp.Diff(want, reader.Manifest()); d != "" {
		t.Errorf("manifest (-want +got):\n%s", d)
	}
	if got := string(must[[]byte](t)(os.ReadFile(filepath.Join(r.Dir(), "plan.yaml")))); got != want.Plan.Text {
		t.Errorf("plan.yaml holds %q", got)
	}
	if got := reader.Planned(); got != 8 {
		t.Errorf("%d samples planned, want 8", got)
	}

	// Committed in the order of the layout, read in the order of the report.
	for b, cells := range want.Blocks {
		for i, c := range cells {
			if reader.Have(b+1, c) {
				t.Errorf("block %d %q is there before its commit", b+1, c)
			}
			commit(t, r, b+1, c, testSample(float64(10*(b+1)+i)))
			if !reader.Have(b+1, c) {
				t.Errorf("block %d %q is not there after its commit", b+1, c)
			}
		}
	}
	var got []string
	for _, s := range must[[]Sample](t)(reader.Samples()) {
		got = append(got, fmt.Sprintf("%d %s %v", s.Block, s.Cell, s.Metrics[0].Value))
	}
	wantOrder := []string{
		"1 vanilla: sata xfs bfq dd 11", "1 wbt: sata xfs bfq dd 10", "1 vanilla: sata ext4 bfq dd 13", "1 wbt: sata ext4 bfq dd 12",
		"2 vanilla: sata xfs bfq dd 21", "2 wbt: sata xfs bfq dd 20", "2 vanilla: sata ext4 bfq dd 23", "2 wbt: sata ext4 bfq dd 22",
	}
	if d := cmp.Diff(wantOrder, got); d != "" {
		t.Errorf("samples (-want +got):\n%s", d)
	}
	if _, err := os.Stat(filepath.Join(r.Dir(), draftsDir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("drafts are left: %v", err)
	}
}

func TestSameBytes(t *testing.T) {
	read := func() map[string]string {
		r := newRun(t)
		s := testSample(1)
		for i := range 50 {
			s.Settings[fmt.Sprint("vm.", i)] = "x"
		}
		commit(t, r, 1, r.Manifest().Blocks[0][0], s)
		got := map[string]string{}
		err := fs.WalkDir(os.DirFS(r.Dir()), ".", func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && path != lockFile {
				got[path] = string(must[[]byte](t)(os.ReadFile(filepath.Join(r.Dir(), path))))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if d := cmp.Diff(read(), read()); d != "" {
		t.Errorf("two runs of the same values differ:\n%s", d)
	}
}

func TestDraft(t *testing.T) {
	r := newRun(t)
	c := r.Manifest().Blocks[0][0]
	d := must[*Draft](t)(r.Begin(1, c, 1))
	if err := os.WriteFile(filepath.Join(d.Dir(), ConsoleLog), []byte("boot\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	// Nothing may see a draft as a sample.
	reader := must[*Run](t)(Open(r.Dir()))
	if n := len(must[[]Sample](t)(reader.Samples())); n != 0 || reader.Have(1, c) {
		t.Errorf("a draft counts as a sample")
	}

	// What cannot be counted is refused and leaves the draft open.
	for want, s := range map[string]Sample{
		"machinery":         {Outcome: Outcome{Kind: Machinery, Reason: "ssh-lost"}},
		"value NaN":         testSample(math.NaN()),
		"value +Inf":        testSample(math.Inf(1)),
		"outcome \"\"":      {},
		"not in its direct": {Outcome: Outcome{Kind: KernelFault, Log: "../../console.log"}},
	} {
		if err := d.Commit(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("commit: %v, want an error about %s", err, want)
		}
	}

	if err := d.Abandon("ssh-lost: guest still lives"); err != nil {
		t.Fatal(err)
	}
	if err := d.Commit(testSample(1)); err == nil {
		t.Error("an abandoned draft was committed")
	}
	if n := len(must[[]Sample](t)(reader.Samples())); n != 0 || reader.Have(1, c) {
		t.Error("an abandoned attempt counts as a sample")
	}
	want := []Attempt{{Block: 1, Cell: c, Attempt: 1, Reason: "ssh-lost: guest still lives"}}
	if d := cmp.Diff(want, must[[]Attempt](t)(reader.Attempts())); d != "" {
		t.Errorf("attempts (-want +got):\n%s", d)
	}
	if got := must[[]byte](t)(os.ReadFile(filepath.Join(r.Dir(), attemptsDir, "b1", c.Slug(), "a1", ConsoleLog))); string(got) != "boot\n" {
		t.Errorf("console log of the attempt holds %q", got)
	}

	// An attempt's number is used once.
	if _, err := r.Begin(1, c, 1); !errors.Is(err, fs.ErrExist) {
		t.Errorf("attempt 1 begun again: %v", err)
	}
	if n := must[int](t)(r.NextAttempt(1, c)); n != 2 {
		t.Errorf("next attempt is %d, want 2", n)
	}
	d = must[*Draft](t)(r.Begin(1, c, 2))
	if err := d.Commit(testSample(1)); err != nil {
		t.Fatal(err)
	}
	if s := must[[]Sample](t)(reader.Samples()); len(s) != 1 || s[0].Attempt != 2 {
		t.Errorf("samples %v, want the one of attempt 2", s)
	}
	// A sample is never replaced.
	if _, err := r.Begin(1, c, 3); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second sample of the cell was begun: %v", err)
	}
}

func TestBeginRefuses(t *testing.T) {
	r := newRun(t)
	c := r.Manifest().Blocks[0][0]
	stranger := c
	stranger.Arm = "other"
	for _, tt := range []struct {
		block, attempt int
		cell           Cell
	}{{0, 1, c}, {3, 1, c}, {1, 0, c}, {1, 1, stranger}} {
		if _, err := r.Begin(tt.block, tt.cell, tt.attempt); err == nil {
			t.Errorf("Begin(%d, %q, %d) gave no error", tt.block, tt.cell, tt.attempt)
		}
	}
	reader := must[*Run](t)(Open(r.Dir()))
	if _, err := reader.Begin(1, c, 1); err == nil || !strings.Contains(err.Error(), "reading only") {
		t.Errorf("a reader began a sample: %v", err)
	}
}

func TestManyDraftsAtOnce(t *testing.T) {
	r := newRun(t)
	var wg sync.WaitGroup
	for b, cells := range r.Manifest().Blocks {
		for _, c := range cells {
			wg.Go(func() {
				d, err := r.Begin(b+1, c, 1)
				if err == nil {
					err = d.Commit(testSample(1))
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if n := len(must[[]Sample](t)(r.Samples())); n != 8 {
		t.Errorf("%d samples, want 8", n)
	}
}

func TestOneWriter(t *testing.T) {
	r := newRun(t)
	_, err := Resume(r.Dir())
	if !errors.Is(err, ErrLocked) || fault.Of(err) != fault.Plan || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("second writer: %v, want ErrLocked with our pid", err)
	}
	if _, err := Create(r.Dir(), testManifest()); !errors.Is(err, ErrLocked) {
		t.Errorf("second creator: %v, want ErrLocked", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	again := must[*Run](t)(Resume(r.Dir()))
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestKilledWriter(t *testing.T) {
	r := newRun(t)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	exe := must[string](t)(os.Executable())
	p := must[*proc.Process](t)(proc.Start(t.Context(), proc.Cmd{Path: exe, Env: append(os.Environ(), "SPINDLE_TEST_HOLD="+r.Dir()), Stdout: in}))
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held <nil>\n" {
		t.Fatalf("the other writer said %q, %v", line, err)
	}
	if _, err := Resume(r.Dir()); !errors.Is(err, ErrLocked) {
		t.Errorf("writer beside another process: %v, want ErrLocked", err)
	}
	p.Kill()
	<-p.Done()

	w := must[*Run](t)(Resume(r.Dir()))
	defer w.Close()
	c := r.Manifest().Blocks[0][0]
	want := []Attempt{{Block: 1, Cell: c, Attempt: 1, Reason: interrupted}}
	if d := cmp.Diff(want, must[[]Attempt](t)(w.Attempts())); d != "" {
		t.Errorf("attempts after the kill (-want +got):\n%s", d)
	}
	if n := must[int](t)(w.NextAttempt(1, c)); n != 2 {
		t.Errorf("next attempt is %d, want 2", n)
	}
}

// A directory is had before its run, and is gone again if none comes.
func TestReserve(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "runs", "run")
	p, err := Reserve(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Reserve(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("a second time: %v, want %v", err, ErrLocked)
	}
	p.Close()
	if left, err := os.ReadDir(top); err != nil || len(left) > 0 {
		t.Errorf("given back, %v are left, %v", left, err)
	}
	empty := t.TempDir()
	if p, err = Reserve(empty); err != nil {
		t.Fatal(err)
	}
	p.Close()
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v in a directory that was there", left, err)
	}
	if p, err = Reserve(dir); err != nil {
		t.Fatal(err)
	}
	r, err := p.Create(testManifest())
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	if _, err := Resume(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("its run goes on: %v, want %v", err, ErrLocked)
	}
	r.Close()
	if _, err := Reserve(dir); err == nil || fault.Of(err) != fault.Plan {
		t.Errorf("where a run is: %v", err)
	}
	if _, err := Reserve("/proc/run"); err == nil {
		t.Error("a directory in /proc was had")
	}
}

func TestCreateRefuses(t *testing.T) {
	r := newRun(t)
	r.Close()
	if _, err := Create(r.Dir(), testManifest()); err == nil || fault.Of(err) != fault.Plan || fault.Hint(err) == "" {
		t.Errorf("a run over a run: %v, want a fault of the plan with a hint", err)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "thesis.tex"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(other, testManifest()); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("a run in a full directory: %v, want an error that names the file", err)
	}

	for want, spoil := range map[string]func(*Manifest){
		"no arms":                   func(m *Manifest) { m.Arms = nil },
		`arm "wbt" is listed twice`: func(m *Manifest) { m.Arms = append(m.Arms, m.Arms[1]) },
		`kernel "gone"`:             func(m *Manifest) { m.Arms[0].Kernel = "gone" },
		"is listed twice":           func(m *Manifest) { m.Conditions = append(m.Conditions, m.Conditions[0]) },
		`block 2 has arm "x"`:       func(m *Manifest) { m.Blocks[1][0].Arm = "x" },
		"twice":                     func(m *Manifest) { m.Blocks[0][1] = m.Blocks[0][0] },
		"not UTF-8":                 func(m *Manifest) { m.Plan.Text = "name: \xff" },
		"direction":                 func(m *Manifest) { m.Workloads[0].Metrics[0].Direction = "" },
	} {
		m := testManifest()
		spoil(&m)
		dir := filepath.Join(t.TempDir(), "run")
		if _, err := Create(dir, m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Create: %v, want an error about %q", err, want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: a refused manifest left a directory", want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	manifest := func(r *Run) string { return filepath.Join(r.Dir(), manifestFile) }
	first := func(r *Run) string {
		return filepath.Join(r.SampleDir(1, r.Manifest().Blocks[0][0]), sampleFile)
	}
	replace := func(file func(*Run) string, from, to string) func(*testing.T, *Run) string {
		return func(t *testing.T, r *Run) string {
			data := string(must[[]byte](t)(os.ReadFile(file(r))))
			if !strings.Contains(data, from) {
				t.Fatalf("%s has no %q", file(r), from)
			}
			if err := os.WriteFile(file(r), []byte(strings.Replace(data, from, to, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			return file(r)
		}
	}
	cut := func(file func(*Run) string, keep int64) func(*testing.T, *Run) string {
		return func(t *testing.T, r *Run) string {
			if err := os.Truncate(file(r), keep); err != nil {
				t.Fatal(err)
			}
			return file(r)
		}
	}
	for name, tt := range map[string]struct {
		spoil func(*testing.T, *Run) (path string)
		want  string
	}{
		"later format":     {replace(manifest, `"format": 1`, `"format": 7`), "format 7 and this spindle reads up to 1"},
		"no format":        {replace(manifest, `"format": 1`, `"format": 0`), "not a manifest"},
		"edited plan":      {replace(manifest, "name: wbt", "name: www"), "the manifest was edited"},
		"manifest cut":     {cut(manifest, 1000), "the file was cut"},
		"manifest emptied": {cut(manifest, 0), "file is empty"},
		"manifest corrupt": {replace(manifest, `"seed":`, `"seed",`), "corrupt JSON at byte"},
		"sample cut":       {cut(first, 100), "the file was cut"},
		"sample emptied":   {cut(first, 0), "file is empty"},
		"sample doubled":   {replace(first, "{", "{}{"), "more follows"},
		"wrong type":       {replace(first, `"block": 1`, `"block": "one"`), "block"},
		"sample moved":     {replace(first, `"block": 1`, `"block": 2`), "it was moved"},
		"uncounted":        {replace(first, `"kind": "ok"`, `"kind": "machinery"`), "never counted"},
		"not a sample": {func(t *testing.T, r *Run) string {
			dir := filepath.Join(r.Dir(), samplesDir, "b1", "guess")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			return dir
		}, "not a cell"},
		"not a block": {func(t *testing.T, r *Run) string {
			dir := filepath.Join(r.Dir(), samplesDir, "b01")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, r.Manifest().Blocks[0][0].Slug()), 0o755); err != nil {
				t.Fatal(err)
			}
			return dir
		}, "not a cell"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t)
			commit(t, r, 1, r.Manifest().Blocks[0][0], testSample(1))
			path := tt.spoil(t, r)
			reader, err := Open(r.Dir())
			if err == nil {
				_, err = reader.Samples()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("read: %v\nwant an error about %q that names %s", err, tt.want, path)
			}
		})
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, fs.ErrNotExist) || fault.Hint(err) == "" {
		t.Errorf("open of no run: %v", err)
	}
}

func TestLaterAdditionsAreIgnored(t *testing.T) {
	r := newRun(t)
	path := filepath.Join(r.Dir(), manifestFile)
	data := string(must[[]byte](t)(os.ReadFile(path)))
	if err := os.WriteFile(path, []byte(strings.Replace(data, "{", `{"mood": "good",`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(r.Dir()); err != nil {
		t.Error(err)
	}
}
