package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"spindle/internal/proc"
)

func TestMain(m *testing.M) {
	if code, ok := Role(context.Background(), []string{os.Args[0]}, os.Args[1:]); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// run starts the program as a process of its own and gives its output.
func run(t *testing.T, o Options) (stdout string, r Report, err error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Report = filepath.Join(t.TempDir(), "report.json")
	args, err := o.Args()
	if err != nil {
		t.Fatal(err)
	}
	// A file, because a pipe would be written by two processes and read by a third.
	out, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	_, err = proc.Run(t.Context(), proc.Cmd{Path: self, Args: args, Stdout: out})
	text, rerr := os.ReadFile(out.Name())
	if rerr != nil {
		t.Fatal(rerr)
	}
	if data, rerr := os.ReadFile(o.Report); rerr == nil {
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatal(err)
		}
	}
	return string(text), r, err
}

// published is the form of Vivek Goyal's mails of April 2011.
var published = regexp.MustCompile(`^write time: ([0-9]+\.[0-9]{4})s fsync time: ([0-9]+\.[0-9]{4})s$`)

func lines(stdout string) []string { return strings.Split(strings.TrimSpace(stdout), "\n") }

func TestRun(t *testing.T) {
	o := Options{
		Dir: t.TempDir(), File: 256 * Block, Write: 4096,
		Pause: 5 * time.Millisecond, Duration: time.Hour, Iterations: 4, Writer: true,
	}
	stdout, r, err := run(t, o)
	if err != nil {
		t.Fatal(err)
	}
	got := lines(stdout)
	if len(got) != 4+o.Iterations+1 {
		t.Fatalf("output:\n%s", stdout)
	}
	for i, want := range []string{
		"setting up random write file", "done setting up random write file", "starting random io!", "starting fsync run",
	} {
		if got[i] != want {
			t.Errorf("line %d: %q, want %q", i, got[i], want)
		}
	}
	if len(r.Writes) != o.Iterations || len(r.Fsyncs) != o.Iterations {
		t.Fatalf("report: %+v", r)
	}
	for i, line := range got[4 : 4+o.Iterations] {
		m := published.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("line %q is not in the published form", line)
		}
		if w, f := fmt.Sprintf("%.4f", r.Writes[i]), fmt.Sprintf("%.4f", r.Fsyncs[i]); m[1] != w || m[2] != f {
			t.Errorf("line %q, report %s and %s", line, w, f)
		}
	}
	if want := "run done 4 fsyncs total, killing random writer"; got[len(got)-1] != want {
		t.Errorf("last line %q, want %q", got[len(got)-1], want)
	}
	if r.RandomWrites <= 0 || r.RandomSeconds <= 0 {
		t.Errorf("random writer: %d in %g s", r.RandomWrites, r.RandomSeconds)
	}
	for name, want := range map[string]int64{RandomFile: o.File, FsyncFile: o.Write} {
		st, err := os.Stat(filepath.Join(o.Dir, name))
		if err != nil || st.Size() != want || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want %d bytes, mode 0600", name, st, err, want)
		}
	}

	// A second run finds the file and does not fill it.
	stdout, _, err = run(t, o)
	if err != nil || strings.Contains(stdout, "setting up") {
		t.Errorf("second run: %v\n%s", err, stdout)
	}
}

// The run ends after the first fsync that is later than the duration.
func TestDuration(t *testing.T) {
	o := Options{Dir: t.TempDir(), File: 2 * Block, Write: 1 << 20, Iterations: 60}
	stdout, r, err := run(t, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Fsyncs) != 1 || r.RandomWrites != 0 || !strings.Contains(stdout, "run done 1 fsyncs total") || strings.Contains(stdout, "random io") {
		t.Errorf("report %+v, output:\n%s", r, stdout)
	}
}

func TestPrepare(t *testing.T) {
	o := Options{Dir: t.TempDir(), File: 64 * Block, Write: 4096, Iterations: 1}
	if err := Prepare(o); err != nil {
		t.Fatal(err)
	}
	stdout, _, err := run(t, o)
	if err != nil || strings.Contains(stdout, "setting up") {
		t.Errorf("run after Prepare: %v\n%s", err, stdout)
	}
}

func TestFailures(t *testing.T) {
	o := Options{Dir: filepath.Join(t.TempDir(), "none"), File: 2 * Block, Write: 1, Iterations: 1}
	if _, _, err := run(t, o); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no directory: %v", err)
	}
	o.Dir, o.File = t.TempDir(), 5000
	if _, _, err := run(t, o); err == nil || !strings.Contains(err.Error(), "multiple of 4096") {
		t.Errorf("odd size: %v", err)
	}
	if err := Prepare(o); err == nil {
		t.Error("Prepare took an odd size")
	}
	if _, ok := Role(t.Context(), nil, []string{"fio", "{}"}); ok {
		t.Error("a role of somebody else was taken")
	}
}

// A random writer that ends by itself means that the load was not there.
func TestWriterDies(t *testing.T) {
	dir := t.TempDir()
	o := Options{Dir: dir, File: 2 * Block, Write: 1, Pause: 300 * time.Millisecond, Duration: time.Hour, Iterations: 2, Writer: true, Report: filepath.Join(dir, "r")}
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	err = Run(t.Context(), o, []string{"/bin/false"}, out)
	if err == nil || !strings.Contains(err.Error(), "random writer ended before the run did") {
		t.Errorf("Run = %v", err)
	}
	if _, err := os.Stat(o.Report); err == nil {
		t.Error("a report was written")
	}
}
