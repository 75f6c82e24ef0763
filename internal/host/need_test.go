package host

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
)

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// everywhere is what a system has that can run a shell, and spindle itself,
// which its tests run.
var everywhere = []string{"sh", "env", "true", "dd", "unshare", "spindle"}

// The table is whole: what the source asks proc or proctest for by a literal
// name is in it, so that `spindle doctor --install` gets all of it. Programs
// that workloads run are in the guest.
func TestTableHasWhatTheSourceRuns(t *testing.T) {
	known := map[string]bool{}
	for _, n := range allNeeds() {
		known[n.Program] = true
	}
	found := 0
	check := func(pos token.Position, e ast.Expr) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		name, _ := strconv.Unquote(lit.Value)
		if name == "" || strings.Contains(name, "/") || slices.Contains(everywhere, name) {
			return
		}
		found++
		if !known[name] {
			t.Errorf("%s: %s is not in the table", pos, name)
		}
	}
	root := "../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if rel == "workloads" || rel == "internal/proc" || strings.HasPrefix(name, ".") && rel != "." || name == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				switch called(n.Fun) {
				case "proctest.Need":
					for _, a := range n.Args[1:] {
						check(set.Position(a.Pos()), a)
					}
				case "proc.LookPath":
					check(set.Position(n.Pos()), n.Args[0])
				}
			case *ast.CompositeLit:
				if called(n.Type) != "proc.Cmd" {
					return true
				}
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok && ast.Unparen(kv.Key).(*ast.Ident).Name == "Path" {
						check(set.Position(kv.Pos()), kv.Value)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 10 {
		t.Errorf("%d programs found: the search is broken", found)
	}
}

// called gives "package.Name" of a selector.
func called(e ast.Expr) string {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	p, ok := s.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return p.Name + "." + s.Sel.Name
}

func TestTableIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, n := range allNeeds() {
		if seen[n.Name()] || n.For == "" || (n.Program == "") == (n.File == "") {
			t.Errorf("bad row: %+v", n)
		}
		seen[n.Name()] = true
		if n.Packages[Apt] == "" && n.Hint == "" {
			t.Errorf("%s: nobody learns where to get it", n.Name())
		}
		if n.Packages[Pacman] == "" && n.Hint == "" || n.Packages[Dnf] == "" && n.Hint == "" {
			t.Errorf("%s: no package and no hint", n.Name())
		}
	}
}

// The names for apt are checked against the packages that are installed here:
// the one that owns a program's file must be the one in the table.
func TestAptNames(t *testing.T) {
	if readDistribution(Env{Root: "/"}).Manager != Apt {
		t.Skip("not a Debian")
	}
	proctest.Need(t, "dpkg")
	// All paths that a file may have for dpkg, which knows only one of them.
	paths := map[string][]string{}
	args := []string{"--search"}
	for _, n := range allNeeds() {
		path := n.File
		if path == "" {
			path, _ = proc.LookPath(n.Program)
		}
		real, err := filepath.EvalSymlinks(path)
		if path == "" || err != nil || n.Packages[Apt] == "" {
			continue
		}
		// /bin may be /usr/bin, and lzma is a link by way of update-alternatives.
		for _, p := range []string{path, real} {
			paths[n.Name()] = append(paths[n.Name()], p, strings.TrimPrefix(p, "/usr"))
		}
		args = append(args, paths[n.Name()]...)
	}
	// It fails because it does not know some of them.
	out, _ := proc.Run(t.Context(), proc.Cmd{Path: "dpkg", Args: args, Setenv: []string{"LC_ALL=C"}})
	owners := map[string]string{} // by path
	for line := range strings.Lines(string(out.Stdout)) {
		if owner, path, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			owners[path], _, _ = strings.Cut(owner, ":") // without the architecture
		}
	}
	checked := 0
	for _, n := range allNeeds() {
		var got []string
		for _, p := range paths[n.Name()] {
			if o := owners[p]; o != "" {
				got = append(got, o)
			}
		}
		if len(got) == 0 {
			continue // not here, or not from a package
		}
		checked++
		if !slices.Contains(got, n.Packages[Apt]) {
			t.Errorf("%s belongs to %q, the table says %s", n.Name(), got, n.Packages[Apt])
		}
	}
	if checked < 5 {
		t.Errorf("only %d checked: dpkg said %s", checked, out.Stdout)
	}
}
