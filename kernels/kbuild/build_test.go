package kbuild

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"spindle/internal/fault"
	"spindle/internal/proc/proctest"
	"spindle/internal/progress"
	"spindle/kernels/kconfig"
	"spindle/kernels/tree"
)

// source is a repository with the tree in testdata/linux, and patches on it.
type source struct {
	t   *testing.T
	dir string
}

func newSource(t *testing.T) source {
	t.Helper()
	proctest.Need(t, "git", "make", "gcc", "perl", "ld", "flex", "bison", "bc", "gzip")
	s := source{t, filepath.Join(t.TempDir(), "linux")}
	if err := os.CopyFS(s.dir, os.DirFS("testdata/linux")); err != nil {
		t.Fatal(err)
	}
	s.git("init", "-q", "-b", "base")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "base")
	return s
}

func (s source) git(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// change commits one file, on the branch that is checked out.
func (s source) change(name, text string) string {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "change "+name)
	return s.git("rev-parse", "HEAD")
}

// spec is what is built of a commit; series is a range on top of it.
func (s source) spec(dir, rev, series string, fragments ...Fragment) Spec {
	s.t.Helper()
	env := tree.Env{Dir: dir}
	base, err := env.Git(s.t.Context(), s.dir, rev)
	if err != nil {
		s.t.Fatal(err)
	}
	var mails []tree.Mail
	if series != "" {
		if mails, err = base.Range(s.t.Context(), "", series); err != nil {
			s.t.Fatal(err)
		}
	}
	code, err := base.Apply(s.t.Context(), mails)
	if err != nil {
		s.t.Fatal(err)
	}
	cc, err := FindCompiler(s.t.Context(), "")
	if err != nil {
		s.t.Fatal(err)
	}
	return Spec{Name: "test", Code: code, Target: targets[0], Config: Config{Fragments: fragments}, Compiler: cc}
}

func fragment(t *testing.T, name, text string, own bool) Fragment {
	t.Helper()
	asks, err := kconfig.Asks(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return Fragment{name, text, asks, own}
}

// result is a build's image and how many objects it took.
func result(ctx context.Context, dir string, s Spec) (image []byte, r Result, err error) {
	return resultOf(ctx, Env{Dir: dir, Jobs: 2}, s)
}

func resultOf(ctx context.Context, env Env, s Spec) (image []byte, r Result, err error) {
	err = Build(ctx, env, s, func(got Result) error {
		r = got
		image, err = os.ReadFile(got.Image)
		return err
	})
	return image, r, err
}

// Two directories, two days, another user's name for the path: the same bytes.
func TestSameBytes(t *testing.T) {
	src := newSource(t)
	dirs := []string{t.TempDir(), filepath.Join(t.TempDir(), "a/much/longer/path/to-the/cache")}
	var images [][]byte
	for i, dir := range dirs {
		if i == 1 {
			t.Setenv("KCFLAGS", "-DOTHER=1")
			t.Setenv("LOCALVERSION", "-mine")
			t.Setenv("KBUILD_BUILD_USER", "somebody")
			t.Setenv("MAKEFLAGS", "--dry-run")
		}
		// The second without ccache, which must not show either.
		image, r, err := resultOf(t.Context(), Env{Dir: dir, Jobs: 1 + i, NoCache: i == 1}, src.spec(dir, "base", ""))
		if err != nil {
			t.Fatal(err)
		}
		if r.Release != "6.12.3-test" || r.Objects != 3 {
			t.Errorf("release %s, %d objects", r.Release, r.Objects)
		}
		images = append(images, image)
	}
	if !bytes.Equal(images[0], images[1]) {
		t.Error("the images differ")
	}
	for _, dir := range dirs {
		if bytes.Contains(images[0], []byte(dir)) {
			t.Errorf("the image has the path %s in it", dir)
		}
	}
	if !bytes.Contains(images[0], []byte("mm/writeback.c")) {
		t.Error("the image has no names of files: what is compared is nothing")
	}
}

// The second arm costs what its patch touches, and gives what a build from
// nothing gives.
func TestIncremental(t *testing.T) {
	src := newSource(t)
	src.git("checkout", "-q", "-b", "wbt")
	src.change("mm/vmscan.c", "int vmscan(int x)\n{\n\treturn x + 2;\n}\n")
	src.change("mm/new.c", "int new(int x)\n{\n\treturn x;\n}\n")
	dir := t.TempDir()
	base, _, err := result(t.Context(), dir, src.spec(dir, "base", ""))
	if err != nil {
		t.Fatal(err)
	}
	patched, r, err := result(t.Context(), dir, src.spec(dir, "base", "base..wbt"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Objects != 2 {
		t.Errorf("the patches took %d objects, want 2", r.Objects)
	}
	again, r, err := result(t.Context(), dir, src.spec(dir, "base", ""))
	if err != nil || !bytes.Equal(again, base) {
		t.Errorf("back at the base: %v, the same bytes: %v", err, bytes.Equal(again, base))
	}
	if r.Objects != 1 {
		t.Errorf("going back took %d objects, want 1", r.Objects)
	}
	other := t.TempDir()
	whole, _, err := result(t.Context(), other, src.spec(other, "base", "base..wbt"))
	if err != nil || !bytes.Equal(whole, patched) {
		t.Errorf("from nothing: %v, the same bytes: %v", err, bytes.Equal(whole, patched))
	}
}

func TestBuildFails(t *testing.T) {
	src := newSource(t)
	src.git("checkout", "-q", "-b", "wbt")
	src.change("mm/slab.c", "int slab(int x)\n{\n\treturn x;\n}\n")
	src.change("mm/vmscan.c", "int vmscan(int x)\n{\n\tx = 1;\n\treturn undeclared;\n}\n")
	dir := t.TempDir()
	_, _, err := result(t.Context(), dir, src.spec(dir, "base", "base..wbt"))
	if fault.Of(err) != fault.Kernel || fault.Reason(err) != "build" {
		t.Fatalf("%v: %v", fault.Of(err), err)
	}
	for _, want := range []string{"mm/vmscan.c:4: error: ", "undeclared", `patch 2 of 2 touches that file: "change mm/vmscan.c"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	if !strings.Contains(fault.Tail(err), "return undeclared") {
		t.Errorf("evidence %q", fault.Tail(err))
	}
	// The lane is in order: what was compiled stays.
	_, r, err := result(t.Context(), dir, src.spec(dir, "base", "base..wbt~1"))
	if err != nil || r.Objects > 2 {
		t.Errorf("%d objects, %v", r.Objects, err)
	}
}

func TestConfigNotMet(t *testing.T) {
	src := newSource(t)
	dir := t.TempDir()
	mine := fragment(t, "./mine.config", "CONFIG_F2FS_FS=y\nCONFIG_NOTHING=y\nCONFIG_BLOCK=y\n", false)
	_, _, err := result(t.Context(), dir, src.spec(dir, "base", "", mine))
	if fault.Of(err) != fault.Plan {
		t.Fatalf("%v: %v", fault.Of(err), err)
	}
	for _, want := range []string{
		"CONFIG_F2FS_FS=y (./mine.config): it is n: it depends on MISSING, which is n",
		"CONFIG_NOTHING=y (./mine.config): this kernel has no such symbol",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	if strings.Contains(err.Error(), "BLOCK=y") {
		t.Errorf("%v", err)
	}
	// The same of spindle's own fragments is told, and no error.
	ours := fragment(t, "filesystems", "CONFIG_F2FS_FS=y\nCONFIG_NOTHING=y\nCONFIG_EXT4_FS=y\n", true)
	_, r, err := result(t.Context(), dir, src.spec(dir, "base", "", ours, fragment(t, "block", "CONFIG_BLOCK=y\n", true)))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Absent) != 1 || r.Absent[0].Symbol != "CONFIG_NOTHING" || len(r.Unmet) != 1 || r.Unmet[0].Symbol != "CONFIG_F2FS_FS" {
		t.Errorf("absent %v, unmet %v", r.Absent, r.Unmet)
	}
}

// slow makes a build that takes a minute for each object.
func slow(src source) string {
	src.git("checkout", "-q", "-b", "slow", "base")
	id := src.change("mm/slow", "")
	src.git("checkout", "-q", "base")
	return id
}

// An interrupt ends the build at once, and the next one goes on from there.
func TestInterrupted(t *testing.T) {
	src := newSource(t)
	id := slow(src)
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("interrupted")
	time.AfterFunc(1500*time.Millisecond, func() { cancel(stop) })
	began := time.Now()
	_, _, err := result(ctx, dir, src.spec(dir, id, ""))
	if !errors.Is(err, stop) || time.Since(began) > 30*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	if busy, _ := filepath.Glob(filepath.Join(dir, lanes, "*", "busy")); len(busy) > 0 {
		t.Error("the lane is taken for a broken one")
	}
	if _, _, err := result(t.Context(), dir, src.spec(dir, "base", "")); err != nil {
		t.Error(err)
	}
}

// A build that ended in disorder costs the lane its objects: here one that looks
// newer than its source and is cut short.
func TestCrashed(t *testing.T) {
	src := newSource(t)
	dir := t.TempDir()
	want, _, err := result(t.Context(), dir, src.spec(dir, "base", ""))
	if err != nil {
		t.Fatal(err)
	}
	objects, _ := filepath.Glob(filepath.Join(dir, lanes, "*", "obj/mm/slab.o"))
	if len(objects) != 1 {
		t.Fatal(objects)
	}
	if err := os.Truncate(objects[0], 100); err != nil {
		t.Fatal(err)
	}
	lane := filepath.Dir(filepath.Dir(filepath.Dir(objects[0])))
	if err := os.WriteFile(filepath.Join(lane, "busy"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	got, r, err := result(t.Context(), dir, src.spec(dir, "base", ""))
	if err != nil || !bytes.Equal(got, want) || r.Objects != 3 {
		t.Errorf("%v, the same bytes: %v, %d objects", err, bytes.Equal(got, want), r.Objects)
	}
}

// Two at once take turns, and each gets its own.
func TestConcurrent(t *testing.T) {
	src := newSource(t)
	src.git("checkout", "-q", "-b", "wbt")
	src.change("mm/vmscan.c", "int vmscan(int x)\n{\n\treturn x + 2;\n}\n")
	dir := t.TempDir()
	specs := []Spec{src.spec(dir, "base", ""), src.spec(dir, "wbt", "")}
	images := make([][]byte, 4)
	var wg sync.WaitGroup
	for i := range images {
		wg.Go(func() {
			var err error
			if images[i], _, err = result(t.Context(), dir, specs[i%2]); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if !bytes.Equal(images[0], images[2]) || !bytes.Equal(images[1], images[3]) || bytes.Equal(images[0], images[1]) {
		t.Error("the images are mixed up")
	}
}

func TestFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting takes root")
	}
	src := newSource(t)
	dir := t.TempDir()
	s := src.spec(dir, "base", "")
	small := filepath.Join(dir, lanes)
	if err := os.MkdirAll(small, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", small, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(small, syscall.MNT_DETACH) })
	_, _, err := result(t.Context(), dir, s)
	if err == nil || fault.Of(err) != fault.Machinery {
		t.Fatalf("%v: %v", fault.Of(err), err)
	}
	if !fault.DiskFull(err) {
		t.Errorf("the error does not say that the disk is full: %v", err)
	}
	if err := syscall.Mount("none", small, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := result(t.Context(), dir, s); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestProgress(t *testing.T) {
	src := newSource(t)
	dir := t.TempDir()
	var log strings.Builder
	tick := time.Unix(0, 0)
	clock := func() time.Time { tick = tick.Add(time.Minute); return tick }
	err := Build(t.Context(), Env{Dir: dir, Jobs: 1, Log: progress.New(&log, false, clock)}, src.spec(dir, "base", ""), func(Result) error { return nil })
	if err != nil || !strings.Contains(log.String(), "mm/vmscan.o") {
		t.Errorf("%v, log %q", err, log.String())
	}
}

// The kernel's Makefiles cannot do with a space in a path. That is said before
// anything is checked out.
func TestSpaceInPath(t *testing.T) {
	src := newSource(t)
	dir := filepath.Join(t.TempDir(), "my cache")
	_, _, err := result(t.Context(), dir, src.spec(dir, "base", ""))
	if fault.Of(err) != fault.Machinery || !strings.Contains(fault.Hint(err), "SPINDLE_CACHE") {
		t.Errorf("%v: %v", fault.Of(err), err)
	}
}

func TestLanes(t *testing.T) {
	src := newSource(t)
	dir := t.TempDir()
	if _, _, err := result(t.Context(), dir, src.spec(dir, "base", "")); err != nil {
		t.Fatal(err)
	}
	all, err := Lanes(dir)
	if err != nil || len(all) != 1 || all[0].Series != "6.12" || all[0].Arch != "x86_64" || time.Since(all[0].Used) > time.Minute {
		t.Fatalf("%+v, %v", all, err)
	}
	l, err := openLane(t.Context(), filepath.Join(dir, lanes), filepath.Base(all[0].Dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	if gone, err := all[0].Remove(t.Context()); gone || err != nil {
		t.Errorf("one in use: %v, %v", gone, err)
	}
	l.unlock()
	if gone, err := all[0].Remove(t.Context()); !gone || err != nil {
		t.Errorf("%v, %v", gone, err)
	}
	if all, err := Lanes(dir); len(all) != 0 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
}
