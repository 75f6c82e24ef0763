package create

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
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

func run(t *testing.T, o Options) (r Report, stdout string, err error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args, err := o.Args()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	_, err = proc.Run(t.Context(), proc.Cmd{Path: self, Args: args, Stdout: out})
	text, _ := os.ReadFile(out.Name())
	if data, rerr := os.ReadFile(o.Report); rerr == nil {
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatal(err)
		}
	}
	return r, string(text), err
}

func TestRun(t *testing.T) {
	for _, directories := range []int{0, 3} {
		o := Options{
			Dir: t.TempDir(), Processes: 2, Files: 20, Size: 4096, Rounds: 2, Directories: directories,
			Fsync: true, Stall: time.Hour, Report: filepath.Join(t.TempDir(), "report"),
		}
		r, out, err := run(t, o)
		if err != nil {
			t.Fatal(err)
		}
		files, dirs := 0, map[string]int{}
		err = filepath.WalkDir(o.Dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			st, err := d.Info()
			if err != nil || st.Size() != 4096 {
				t.Errorf("%s: %v, %v", path, st, err)
			}
			files++
			dirs[filepath.Dir(path)]++
			return nil
		})
		if err != nil || files != 80 || len(dirs) != 2*max(1, directories) {
			t.Errorf("%v, %d files in %d directories", err, files, len(dirs))
		}
		if r.Files != 80 || r.Times.Times.N() != 80 || len(r.Rates) != 2 || r.Rates[0] <= 0 {
			t.Errorf("report %+v", r)
		}
		if !strings.HasPrefix(out, "round 1: 40 files, ") || strings.Count(out, "files/sec\n") != 2 {
			t.Errorf("output:\n%s", out)
		}
	}
}

// No two files of a process share a name, and their order does not show.
func TestPlace(t *testing.T) {
	o := Options{Files: 1000}
	seen := map[string]bool{}
	rising := 0
	last := ""
	for round := range 3 {
		for n := range o.Files {
			p := o.place(0, round, n)
			if seen[p] {
				t.Fatalf("%s twice", p)
			}
			if p > last {
				rising++
			}
			seen[p], last = true, p
		}
	}
	if rising < 1000 || rising > 2000 {
		t.Errorf("%d of 3000 names come after the one before", rising)
	}
}

func TestFailures(t *testing.T) {
	o := Options{Dir: t.TempDir(), Processes: 1, Files: 1, Rounds: 0}
	if _, _, err := run(t, o); err == nil || !strings.Contains(err.Error(), "out of range") {
		t.Errorf("no rounds: %v", err)
	}
	o.Rounds, o.Dir = 1, "/proc/nowhere"
	if _, _, err := run(t, o); err == nil {
		t.Error("files were made in /proc")
	}
	if _, ok := Role(t.Context(), nil, []string{"fio", "{}"}); ok {
		t.Error("a role of somebody else was taken")
	}
}
