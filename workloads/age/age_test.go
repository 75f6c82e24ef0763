package age

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spindle/internal/proc"
)

func TestMain(m *testing.M) {
	if code, ok := Role(context.Background(), []string{os.Args[0]}, os.Args[1:]); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func run(t *testing.T, o Options) (Report, string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args, err := o.Args()
	if err != nil {
		t.Fatal(err)
	}
	out, err := proc.Run(t.Context(), proc.Cmd{Path: self, Args: args})
	var r Report
	if data, rerr := os.ReadFile(o.Report); rerr == nil {
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatal(err)
		}
	}
	return r, string(out.Stdout), err
}

// options are those of a small run; the cache is "emptied" by a plain file.
func options(t *testing.T) Options {
	t.Helper()
	caches := filepath.Join(t.TempDir(), "drop_caches")
	if err := os.WriteFile(caches, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return Options{
		Dir: t.TempDir(), Rounds: 3, Writers: 2, Files: 8, Size: 64 << 10, Write: 8 << 10, Seed: 5,
		Caches: caches, Report: filepath.Join(t.TempDir(), "report"),
	}
}

func TestRun(t *testing.T) {
	o := options(t)
	r, out, err := run(t, o)
	if err != nil {
		if strings.Contains(err.Error(), "map extents") {
			t.Skipf("this host's file system has no FIEMAP: %v", err)
		}
		t.Fatal(err)
	}
	if len(r.Rounds) != 3 || strings.Count(out, "round ") != 3 {
		t.Fatalf("%+v, %q", r, out)
	}
	kept := int64(0)
	for i, x := range r.Rounds {
		// Four of eight files stay each round; what is read is what stayed.
		for n := range o.Files {
			if !o.doomed(n) {
				kept += o.size(i, n)
			}
		}
		if x.Files != 4*(i+1) || x.Read != kept || x.Extents < x.Files || x.Bytes < kept || !(x.WriteSeconds > 0) || !(x.ReadSeconds > 0) {
			t.Errorf("round %d: %+v, want %d files of %d bytes", i+1, x, 4*(i+1), kept)
		}
	}
	names, err := filepath.Glob(o.Dir + "/age-*/*")
	if err != nil || len(names) != 12 {
		t.Errorf("%q, %v", names, err)
	}
	for _, n := range names {
		info, err := os.Stat(n)
		if err != nil || info.Size() < o.Size/2 || info.Size() > o.Size*3/2 {
			t.Errorf("%s: %v, %v", n, info, err)
		}
	}
}

// The sizes are of a file's number and the seed alone, and have the mean.
func TestSizes(t *testing.T) {
	o := Options{Size: 1 << 20, Seed: 1}
	sum := int64(0)
	for n := range 4000 {
		s := o.size(3, n)
		if s < 1<<19 || s > 3<<19 || s != o.size(3, n) {
			t.Fatalf("file %d: %d", n, s)
		}
		sum += s
	}
	// The standard error of the mean of 4000 is 1/sqrt(12*4000) of the width.
	if mean := float64(sum) / 4000 / (1 << 20); mean < 0.98 || mean > 1.02 {
		t.Errorf("mean %g", mean)
	}
	if other := (Options{Size: 1 << 20, Seed: 2}); o.size(0, 0) == other.size(0, 0) {
		t.Error("the seed does not count")
	}
}

func TestFailures(t *testing.T) {
	o := options(t)
	o.Caches = filepath.Join(t.TempDir(), "no", "such")
	if _, _, err := run(t, o); err == nil || !strings.Contains(err.Error(), "drop the page cache") {
		t.Error(err)
	}
	o = options(t)
	if err := os.MkdirAll(o.place(1, 3), 0o700); err != nil { // where a file should go
		t.Fatal(err)
	}
	if _, _, err := run(t, o); err == nil || !strings.Contains(err.Error(), "round 2: writer 1") {
		t.Error(err)
	}
	o.Files = 1
	if _, _, err := run(t, o); err == nil || !strings.Contains(err.Error(), "out of range") {
		t.Error(err)
	}
}
