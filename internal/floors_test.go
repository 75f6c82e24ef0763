// Package internal_test keeps the house in order: which room may import which,
// and which folders there are.
package internal_test

import (
	"cmp"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "spindle"

// floors is the house. Imports go down only. A package that is not named
// belongs to the room whose folder it is in (workloads/sample to workloads),
// and within a room imports are free.
var floors = map[string]int{
	"cmd/spindle":       5,
	"cmd/spindle-guest": 5,

	"pipeline/bisect": 4,
	"pipeline/fleet":  4,
	"pipeline/series": 4,

	"pipeline": 3,

	"pipeline/machine": 2,
	"kernels":          2,
	"images":           2,
	"workloads":        2,
	"reports":          2,

	"pipeline/drive":  1,
	"pipeline/guest":  1,
	"reports/record":  1,
	"reports/stat":    1,
	"internal/debian": 1,

	"pipeline/bisect/search": 1,

	"internal/unit":     0,
	"internal/blockid":  0,
	"internal/fault":    0,
	"internal/progress": 0,
	"internal/proc":     0,
	"internal/store":    0,
	"internal/nbd":      0,
	"internal/qmp":      0,
	"internal/host":     0,

	"internal/timetravel": 0,
	"internal/vhost":      0,
}

// common is what everybody may import, neighbours included.
var common = []string{"internal/unit", "internal/fault", "internal/progress", "internal/proc"}

// roots are the only folders at the top, beside those that start with a dot and
// those that git ignores.
var roots = []string{"cmd", "images", "internal", "kernels", "pipeline", "reports", "workloads"}

// guestRooms is all that may be linked into spindle-guest: it lies in memory in
// every guest, and is loaded at every boot.
var guestRooms = []string{"cmd/spindle-guest", "workloads", "reports/record", "internal/blockid", "internal/unit", "internal/fault", "internal/proc"}

// forkers may start programs without internal/proc: itself, and the guest's
// first process, which nothing in the guest outlives.
var forkers = []string{"internal/proc", "cmd/spindle-guest"}

// pkg is one folder with Go files.
type pkg struct {
	dir     string   // from the top: "internal/unit"
	imports []string // of its own files, sorted
	tests   []string // of its test files
}

// room gives the name in floors that a package belongs to, or "".
func room(dir string) string {
	for ; dir != "."; dir = filepath.Dir(dir) {
		if _, ok := floors[dir]; ok {
			return dir
		}
	}
	return ""
}

// packages reads the import lines of all Go files below top, for every build
// tag.
func packages(t *testing.T, top string) map[string]*pkg {
	t.Helper()
	all := map[string]*pkg{}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); path != top && (n == "testdata" || n[0] == '.' || n[0] == '_') {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(top, filepath.Dir(path))
		if err != nil {
			return err
		}
		p := all[dir]
		if p == nil {
			p = &pkg{dir: dir}
			all[dir] = p
		}
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if strings.HasSuffix(path, "_test.go") {
				p.tests = append(p.tests, name)
			} else {
				p.imports = append(p.imports, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		for _, list := range []*[]string{&p.imports, &p.tests} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
	}
	return all
}

// breach says why a package may not import another one, or "". Tests may look
// at neighbours, but not up.
func breach(from, to string, test bool) string {
	a, b := room(from), room(to)
	switch {
	case a == "":
		return fmt.Sprintf("%s is in no room: give it a floor, or put it into one", from)
	case b == "":
		return fmt.Sprintf("%s imports %s, which is in no room", from, to)
	case a == b, slices.Contains(common, b):
		return ""
	case floors[b] > floors[a]:
		return fmt.Sprintf("%s (floor %d) imports up: %s (floor %d)", from, floors[a], to, floors[b])
	case floors[b] == floors[a] && !test:
		return fmt.Sprintf("%s imports its neighbour %s (floor %d)", from, to, floors[a])
	}
	return ""
}

func TestImportsGoDown(t *testing.T) {
	all := packages(t, "..")
	if len(all) < 20 {
		t.Fatalf("only %d packages found", len(all))
	}
	for _, dir := range slices.SortedFunc(maps.Keys(all), cmp.Compare) {
		if dir == "internal" {
			continue // this test
		}
		p := all[dir]
		if why := breach(dir, dir, false); why != "" {
			t.Error(why)
		}
		for _, list := range []struct {
			imports []string
			test    bool
		}{{p.imports, false}, {p.tests, true}} {
			for _, name := range list.imports {
				if to, ok := strings.CutPrefix(name, module+"/"); ok {
					if why := breach(dir, to, list.test); why != "" {
						t.Error(why)
					}
				}
			}
		}
		if slices.Contains(p.imports, "os/exec") && !slices.Contains(forkers, room(dir)) {
			t.Errorf("%s imports os/exec: programs are started by internal/proc, so that they cannot outlive us", dir)
		}
		if slices.Contains(p.imports, "testing") && !strings.HasSuffix(dir, "test") {
			t.Errorf("%s imports testing outside its tests", dir)
		}
	}
}

func TestGuestIsSmall(t *testing.T) {
	all := packages(t, "..")
	seen := map[string]bool{}
	var walk func(dir string, way []string)
	walk = func(dir string, way []string) {
		if seen[dir] {
			return
		}
		seen[dir] = true
		way = append(slices.Clone(way), dir)
		if !slices.Contains(guestRooms, room(dir)) {
			t.Errorf("%s is linked into the guest by way of %s", dir, strings.Join(way, " -> "))
			return
		}
		p := all[dir]
		if p == nil {
			t.Fatalf("%s: no such package", strings.Join(way, " -> "))
		}
		for _, name := range p.imports {
			if to, ok := strings.CutPrefix(name, module+"/"); ok {
				walk(to, way)
			}
		}
	}
	walk("cmd/spindle-guest", nil)
}

func TestTopFolders(t *testing.T) {
	ignored, err := os.ReadFile("../.gitignore")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || name[0] == '.' || slices.Contains(roots, name) ||
			slices.Contains(strings.Split(string(ignored), "\n"), "/"+name+"/") {
			continue
		}
		t.Errorf("folder %s at the top: there are only %s", name, strings.Join(roots, " "))
	}
}

// The rules themselves, on a house that breaks each.
func TestBreach(t *testing.T) {
	for _, test := range []struct {
		from, to string
		test     bool
		ok       bool
	}{
		{"pipeline", "kernels", false, true},
		{"kernels", "pipeline", false, false},
		{"kernels", "pipeline", true, false},
		{"kernels", "images", false, false},
		{"kernels", "images", true, true},
		{"workloads", "workloads/sample", false, true},
		{"workloads/sample", "workloads", false, true},
		{"reports/stat", "reports", false, false},
		{"reports", "reports/stat", false, true},
		{"reports/internal/text", "reports/record", false, true},
		{"pipeline/drive/disk", "pipeline/drive", false, true},
		{"pipeline/drive/disk", "pipeline/guest", false, false},
		{"pipeline/drive", "pipeline", false, false},
		{"pipeline/bisect", "pipeline", false, true},
		{"pipeline", "pipeline/bisect", false, false},
		{"internal/store", "internal/proc", false, true},
		{"internal/proc", "internal/fault", false, true},
		{"internal/nbd", "internal/qmp", false, false},
		{"internal/nbd", "internal/store", false, false},
		{"internal/nbd", "internal/proc/proctest", true, true},
		{"internal/other", "internal/unit", false, false},
		{"kernels", "helpers", false, false},
	} {
		if why := breach(test.from, test.to, test.test); (why == "") != test.ok {
			t.Errorf("%s imports %s (test %v): %q", test.from, test.to, test.test, why)
		}
	}
}
