package fiemap

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
)

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []Extent
		want Layout
	}{
		{"empty", nil, Layout{}},
		{"one", []Extent{{0, 100, 50, 1}}, Layout{Files: 1, Extents: 1, Bytes: 50}},
		{"the kernel's limit of a record is no seek", []Extent{{0, 100, 50, 0}, {50, 150, 50, 1}}, Layout{Files: 1, Extents: 2, Bytes: 100}},
		{"elsewhere", []Extent{{0, 100, 50, 0}, {50, 400, 50, 1}}, Layout{Files: 1, Extents: 2, Discontiguities: 1, Bytes: 100}},
		{"before", []Extent{{0, 100, 50, 0}, {50, 0, 50, 1}}, Layout{Files: 1, Extents: 2, Discontiguities: 1, Bytes: 100}},
		// A hole of 20 for which 20 are kept free on the drive, as filefrag has it.
		{"hole with room", []Extent{{0, 100, 50, 0}, {70, 170, 50, 1}}, Layout{Files: 1, Extents: 2, Bytes: 100}},
		{"hole without", []Extent{{0, 100, 50, 0}, {70, 150, 50, 1}}, Layout{Files: 1, Extents: 2, Discontiguities: 1, Bytes: 100}},
	} {
		if diff := cmp.Diff(tt.want, Count(tt.in)); diff != "" {
			t.Errorf("%s\n%s", tt.name, diff)
		}
	}
	if l := (Layout{Files: 4, Extents: 10, Bytes: 1000}); l.PerFile() != 2.5 || l.Mean() != 100 {
		t.Error(l.PerFile(), l.Mean())
	}
}

// filefrag's own word on files of this host, of which some were written in turns
// so that no file system can put them in one piece.
func TestFilefrag(t *testing.T) {
	proctest.Need(t, "filefrag")
	dir := t.TempDir()
	interleave(t, dir, 3, 40)
	sparse, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if _, err := sparse.WriteAt(make([]byte, 4096), int64(i)*3*4096); err != nil {
			t.Fatal(err)
		}
	}
	sparse.Close()
	names, err := filepath.Glob(dir + "/*")
	if err != nil || len(names) != 4 {
		t.Fatal(names, err)
	}
	var all Layout
	for _, name := range names {
		got, err := File(name)
		if err != nil {
			t.Skipf("this host's file system has no FIEMAP: %v", err)
		}
		all.Add(got)
		out, err := proc.Run(t.Context(), proc.Cmd{Path: "filefrag", Args: []string{"-sv", name}})
		if err != nil {
			t.Fatal(err)
		}
		rows, found := Filefrag(string(out.Stdout))
		if got.Extents != rows || got.Discontiguities+1 != found {
			t.Errorf("%d extents, %d discontiguities; filefrag:\n%s", got.Extents, got.Discontiguities, out.Stdout)
		}
	}
	tree, err := Tree(dir, 0)
	if diff := cmp.Diff(all, tree); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if few, err := Tree(dir, 1); err != nil || few.Files != 1 || few.Skipped != 3 {
		t.Errorf("%+v, %v", few, err)
	}
}

// interleave writes files in turns, each piece synced before the next.
func interleave(t *testing.T, dir string, files, pieces int) {
	t.Helper()
	var fs []*os.File
	for i := range files {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint("f", i)))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		fs = append(fs, f)
	}
	for range pieces {
		for _, f := range fs {
			if _, err := f.Write(make([]byte, 8192)); err != nil {
				t.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Filefrag reads how many rows filefrag -v printed, and how many extents it found.
func Filefrag(text string) (rows, found int) {
	rows = len(regexp.MustCompile(`(?m)^ *[0-9]+: +[0-9]+\.\.`).FindAllString(text, -1))
	if m := regexp.MustCompile(`: ([0-9]+) extents? found`).FindStringSubmatch(text); m != nil {
		found, _ = strconv.Atoi(m[1])
	}
	return rows, found
}

func TestTreeOfNothing(t *testing.T) {
	if l, err := Tree(filepath.Join(t.TempDir(), "none"), 0); err != nil || l != (Layout{}) {
		t.Error(l, err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := Tree(dir, 0); err != nil && !strings.Contains(err.Error(), "map extents") || l.Files != 0 {
		t.Error(l, err)
	}
}
