package kernels

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
	"spindle/internal/proc/proctest"
)

// miniature is a repository whose tree is built as a kernel is, in a second, with
// a branch of three patches.
func miniature(t *testing.T) string {
	t.Helper()
	proctest.Need(t, "git", "make", "gcc", "perl", "ld", "flex", "bison", "bc", "gzip")
	dir := filepath.Join(t.TempDir(), "linux")
	if err := os.CopyFS(dir, os.DirFS("kbuild/testdata/linux")); err != nil {
		t.Fatal(err)
	}
	runGit(t, dir, "init", "-q", "-b", "master")
	runGit(t, dir, "add", "-A")
	runGit(t, dir, "commit", "-q", "-m", "base")
	runGit(t, dir, "tag", "v6.12.3")
	runGit(t, dir, "checkout", "-q", "-b", "wbt")
	for i, name := range []string{"writeback", "vmscan", "slab"} {
		put(t, fmt.Appendf(nil, "int %s(int x)\n{\n\treturn x + %d;\n}\n", name, 10+i), dir, "mm", name+".c")
		runGit(t, dir, "commit", "-q", "-a", "-m", "mm: patch "+name)
	}
	runGit(t, dir, "checkout", "-q", "master")
	return dir
}

func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func buildEnv(t *testing.T) Env {
	t.Helper()
	return Env{Store: openStore(t), Dir: filepath.Join(t.TempDir(), "kernels"), Jobs: 2}
}

func upto(n int) *int { return &n }

func TestMakeFromCode(t *testing.T) {
	dir := miniature(t)
	env := buildEnv(t)
	block := put(t, []byte("# What the test asks for.\nCONFIG_BLOCK=y\nCONFIG_EXT4_FS=y\n"), t.TempDir(), "mine.config")
	source := func(n int) Source {
		return Source{Git: dir, Rev: "v6.12.3", Series: "v6.12.3..wbt", Upto: upto(n), Config: Parts{block}}
	}
	env.NoBuild = true
	if _, err := Make(t.Context(), env, source(0)); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("before it is built: %v", err)
	}
	env.NoBuild = false
	hashes := map[string]int{}
	for n := range 4 {
		a, err := Make(t.Context(), env, source(n))
		if err != nil {
			t.Fatal(err)
		}
		if a.Version != "6.12.3-test" || a.Arch != "x86_64" || a.BzImage != filepath.Join(a.Dir, "bzImage") || a.Build == nil || len(a.Build.Patches) != n {
			t.Fatalf("%+v, %+v", a, a.Build)
		}
		hashes[a.Hash]++
		c, err := a.ReadConfig()
		if err != nil || !c.Has("EXT4_FS") {
			t.Errorf("configuration %v, %v", c, err)
		}
		// uname -v has the tree's id.
		image, err := os.ReadFile(a.BzImage)
		if err != nil || !bytes.Contains(image, fmt.Appendf(nil, "#%.12s Sat Jan  1 00:00:00 UTC 2000", a.Build.Tree)) {
			t.Errorf("the image does not say that it is of tree %.12s: %v", a.Build.Tree, err)
		}
		if n > 0 && !strings.HasSuffix(a.Source, fmt.Sprintf("patches (%.12s)", a.Build.Commit)) && n > 1 {
			t.Errorf("source %q", a.Source)
		}
	}
	if len(hashes) != 4 {
		t.Errorf("kernels %v", hashes)
	}
	// What was built is found again, by the same patches in another form too.
	patches := t.TempDir()
	runGit(t, dir, "format-patch", "-q", "-o", patches, "v6.12.3..wbt")
	env.NoBuild = true
	a, err := Make(t.Context(), env, Source{Git: dir, Rev: "v6.12.3", Series: "v6.12.3..wbt", Config: Parts{block}})
	if err != nil || a.Build.Tree != runGit(t, dir, "rev-parse", "wbt^{tree}") {
		t.Errorf("%+v, %v", a, err)
	}
	env.NoBuild = false

	// Another host gives the same hash.
	other := buildEnv(t)
	b, err := Make(t.Context(), other, Source{Git: dir, Rev: "v6.12.3", Series: "v6.12.3..wbt", Config: Parts{block}})
	if err != nil || b.Hash != a.Hash {
		t.Errorf("there %s, here %s: %v", b.Hash, a.Hash, err)
	}
	if d := cmp.Diff(a.Build, b.Build); d != "" {
		t.Error(d)
	}

	out := filepath.Join(t.TempDir(), "out")
	if err := a.CopyTo(out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bzImage", "config", "kernel.json"} {
		want, _ := os.ReadFile(filepath.Join(a.Dir, name))
		if got, err := os.ReadFile(filepath.Join(out, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	all, err := List(env.Store)
	if err != nil || len(all) != 4 {
		t.Errorf("%d kernels in the store, %v", len(all), err)
	}
}

func TestMakeFromTree(t *testing.T) {
	dir := miniature(t)
	env := buildEnv(t)
	put(t, []byte("int vmscan(int x)\n{\n\treturn x - 1;\n}\n"), dir, "mm", "vmscan.c")
	a, err := Make(t.Context(), env, Source{Tree: dir, Config: Parts{"tiny"}})
	if err != nil {
		t.Fatal(err)
	}
	diff, err := os.ReadFile(filepath.Join(a.Dir, "dirty.diff"))
	if err != nil || !strings.Contains(string(diff), "+\treturn x - 1;") || !a.Build.Dirty {
		t.Errorf("dirty %v, %v\n%s", a.Build.Dirty, err, diff)
	}
	if a.Build.Base == runGit(t, dir, "rev-parse", "HEAD") || !strings.Contains(a.Source, "and changes") {
		t.Errorf("base %s of %q", a.Build.Base, a.Source)
	}
}

func TestMakeProgram(t *testing.T) {
	dir := miniature(t)
	env := buildEnv(t)
	a, err := Make(t.Context(), env, Source{Git: dir, Rev: "v6.12.3", Config: Parts{"tiny"}, Arch: "um"})
	if err != nil && fault.Of(err) == fault.Plan && strings.Contains(err.Error(), "spindle's patch for um") {
		t.Skip("the miniature has no arch/um for spindle's own patches") // told as it must be
	}
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(a.Boot)
	if err != nil || filepath.Base(a.Boot) != "linux" || info.Mode()&0o111 == 0 || a.BzImage != "" || a.Arch != "um" || a.Version != "6.12.3-test" {
		t.Errorf("%+v, %v", a, err)
	}
}

// A compressed tarball, from this host and from elsewhere.
func TestMakeFromTarball(t *testing.T) {
	dir := miniature(t)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = w.WriteHeader(&tar.Header{Name: "linux-6.12.3/" + name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
		}
		w.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	file := put(t, compressed(t, b.Bytes()), t.TempDir(), "linux.tar.xz")
	text, _ := os.ReadFile(file)
	sum := fmt.Sprintf("%x", sha256.Sum256(text))
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(file))))
	defer server.Close()

	git, err := Make(t.Context(), buildEnv(t), Source{Git: dir, Rev: "v6.12.3", Config: Parts{"tiny"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{file, server.URL + "/linux.tar.xz"} {
		env := buildEnv(t)
		a, err := Make(t.Context(), env, Source{Tarball: where, SHA256: sum, Config: Parts{"tiny"}})
		if err != nil || a.Hash != git.Hash {
			t.Errorf("%s: %s, %v; git gives %s", where, a.Hash, err, git.Hash)
		}
		wrong := strings.Repeat("0", 64)
		if _, err := Make(t.Context(), env, Source{Tarball: where, SHA256: wrong, Config: Parts{"tiny"}}); fault.Of(err) != fault.Plan || !strings.Contains(err.Error(), sum) {
			t.Errorf("%s with another hash: %v", where, err)
		}
	}
}

func compressed(t *testing.T, data []byte) []byte {
	t.Helper()
	proctest.Need(t, "xz")
	cmd := exec.Command("xz", "--stdout")
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMakeFromCodeFails(t *testing.T) {
	dir := miniature(t)
	bad := t.TempDir()
	broken := put(t, []byte("From: A <a@example.org>\nSubject: x\n\n---\ndiff --git a/mm/slab.c b/mm/slab.c\n--- a/mm/slab.c\n+++ b/mm/slab.c\n@@ -1,2 +1,2 @@\n nothing like it\n-old\n+new\n"), bad, "broken.patch")
	for name, tt := range map[string]struct {
		source Source
		kind   fault.Kind
		want   string
	}{
		"no such rev":        {Source{Git: dir, Rev: "v7"}, fault.Plan, "rev v7: no such commit"},
		"no repository":      {Source{Git: "/nonexist", Rev: "v6.12"}, fault.Plan, "git: /nonexist: no such directory"},
		"no tree":            {Source{Tree: "/nonexist"}, fault.Plan, "tree: /nonexist: no such directory"},
		"no series":          {Source{Deb: "linux-source-6.12", Series: "/no.mbox"}, fault.Plan, "series: /no.mbox: no such file or directory"},
		"a broken patch":     {Source{Git: dir, Rev: "v6.12.3", Series: broken}, fault.Kernel, `patch 1 of 1 "x" does not apply`},
		"too many":           {Source{Git: dir, Rev: "v6.12.3", Series: "v6.12.3..wbt", Upto: upto(4)}, fault.Plan, "upto: 4: series v6.12.3..wbt has 3 patches"},
		"no compiler":        {Source{Git: dir, Rev: "v6.12.3", CC: "gcc-nowhere"}, fault.Machinery, "find compiler"},
		"no C compiler":      {Source{Git: dir, Rev: "v6.12.3", CC: "git"}, fault.Plan, "neither gcc nor clang"},
		"no fragment":        {Source{Git: dir, Rev: "v6.12.3", Config: Parts{"gest"}}, fault.Plan, `fragment "gest" is not known`},
		"fragment garbage":   {Source{Git: dir, Rev: "v6.12.3", Config: Parts{broken}}, fault.Plan, "broken.patch:1: want CONFIG_NAME=VALUE"},
		"whole in 2nd place": {Source{Git: dir, Rev: "v6.12.3", Config: Parts{"tiny", put(t, []byte("#\n# Automatically generated file; DO NOT EDIT.\nCONFIG_BLOCK=y\n"), bad, "whole.config")}}, fault.Plan, "it comes first"},
		"no kernel":          {Source{Tree: put2(t, bad)}, fault.Plan, "no kernel: its Makefile does not say"},
	} {
		t.Run(name, func(t *testing.T) {
			env := buildEnv(t)
			_, err := Make(t.Context(), env, tt.source)
			if err == nil || fault.Of(err) != tt.kind || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v: %v, want %v with %q", fault.Of(err), err, tt.kind, tt.want)
			}
			if all, _ := List(env.Store); len(all) > 0 {
				t.Errorf("in the store: %v", all)
			}
		})
	}
}

// put2 makes a directory with a Makefile of something else.
func put2(t *testing.T, dir string) string {
	t.Helper()
	return filepath.Dir(put(t, []byte("all:\n\tcc x.c\n"), dir, "other", "Makefile"))
}

// A given .config is taken as it is, but for what would make builds differ.
func TestWholeConfig(t *testing.T) {
	dir := miniature(t)
	env := buildEnv(t)
	whole := put(t, []byte("#\n# Automatically generated file; DO NOT EDIT.\n#\nCONFIG_BLOCK=y\nCONFIG_EXT4_FS=m\nCONFIG_MODULE_SIG=y\n"), t.TempDir(), "config-6.12")
	a, err := Make(t.Context(), env, Source{Git: dir, Rev: "v6.12.3", Config: Parts{whole}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.ReadConfig()
	if err != nil || c.Value("EXT4_FS") != "m" || c.Has("MODULE_SIG") {
		t.Errorf("%v, %v", c, err)
	}
}

func TestValidateCode(t *testing.T) {
	sum := strings.Repeat("a", 64)
	for _, tt := range []struct {
		source Source
		want   string // how the error begins; "" for none
	}{
		{Source{Git: "/linux", Rev: "v6.12", Series: "wbt.mbox", Upto: upto(2), Config: Parts{"guest"}, CC: "clang-14", Arch: "um"}, ""},
		{Source{Git: "https://git.kernel.org/linux.git", Rev: "v6.12"}, ""},
		{Source{Tarball: "linux.tar.xz", SHA256: sum}, ""},
		{Source{Tree: "."}, ""},
		{Source{Deb: "linux-source-6.12", Series: "wbt.mbox"}, ""},
		{Source{Git: "/linux"}, "git: wants a rev"},
		{Source{Rev: "v6.12"}, "rev: belongs"},
		{Source{Git: "/linux", Rev: "-x"}, "rev "},
		{Source{Git: "/linux", Rev: "a..b"}, "rev "},
		{Source{Tarball: "x"}, "tarball: wants"},
		{Source{Tarball: "x", SHA256: "abc"}, "sha256 "},
		{Source{Tree: ".", SHA256: sum}, "sha256: belongs"},
		{Source{Tree: ".", Upto: upto(1)}, "upto: counts"},
		{Source{Tree: ".", Series: "x", Upto: upto(-1)}, "upto: -1"},
		{Source{Tarball: "x", SHA256: sum, Series: "a..b"}, "series a..b: a range"},
		{Source{Tree: ".", Git: "/linux"}, "tree: a kernel comes from one place"},
		{Source{Tree: ".", CC: "gcc -O3"}, "cc "},
		{Source{Tree: ".", Arch: "arm64"}, "arch: arm64"},
		{Source{Tree: ".", Modules: "m"}, "modules: are built"},
		{Source{Path: "bzImage", CC: "gcc"}, "cc: is for source code"},
		{Source{Deb: "linux-image-amd64", Config: Parts{"guest"}}, "config: is for source code"},
		{Source{Path: "bzImage", Upto: upto(1)}, "upto: is for source code"},
	} {
		err := tt.source.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.source, err, tt.want)
		}
	}
}

func TestLocal(t *testing.T) {
	f := func(p string) string { return "/plan/" + p }
	got := Source{Git: "linux", Series: "../wbt.mbox", Config: Parts{"guest", "mine.config"}}.Local(f)
	want := Source{Git: "/plan/linux", Series: "/plan/../wbt.mbox", Config: Parts{"guest", "/plan/mine.config"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	url := Source{Git: "https://x/linux.git", Rev: "v6", Series: "v6..wbt"}
	if d := cmp.Diff(url, url.Local(f), cmp.Comparer(func(a, b Parts) bool { return strings.Join(a, " ") == strings.Join(b, " ") })); d != "" {
		t.Error(d)
	}
}
