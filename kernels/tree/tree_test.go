package tree

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
	"spindle/internal/proc/proctest"
)

func testEnv(t *testing.T) Env {
	t.Helper()
	proctest.Need(t, "git")
	return Env{Dir: t.TempDir()}
}

// user is a repository as a person has it, with settings that must not matter.
type user struct {
	t   *testing.T
	dir string
}

func newUser(t *testing.T) user {
	t.Helper()
	u := user{t, filepath.Join(t.TempDir(), "linux")}
	if err := os.Mkdir(u.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	u.git("init", "-q", "-b", "master")
	u.write("Makefile", "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 0\n")
	u.write("mm/page-writeback.c", lines("writeback", 40))
	u.write("mm/vmscan.c", lines("vmscan", 40))
	u.write(".gitignore", "*.o\n")
	u.commit("base")
	u.git("tag", "v6.12")
	return u
}

func lines(word string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s line %d\n", word, i+1)
	}
	return b.String()
}

// git is the person's own git, with an identity and a date of its own.
func (u user) git(args ...string) string {
	u.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = u.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_AUTHOR_DATE=2016-05-01T12:00:00+0200",
		"GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@example.org", "GIT_COMMITTER_DATE=2016-05-02T12:00:00+0200")
	out, err := cmd.CombinedOutput()
	if err != nil {
		u.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (u user) write(name, text string) {
	u.t.Helper()
	path := filepath.Join(u.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		u.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		u.t.Fatal(err)
	}
}

func (u user) edit(name, old, text string) {
	u.t.Helper()
	b, err := os.ReadFile(filepath.Join(u.dir, name))
	if err != nil || !strings.Contains(string(b), old) {
		u.t.Fatalf("%s has no %q: %v", name, old, err)
	}
	u.write(name, strings.Replace(string(b), old, text, 1))
}

func (u user) commit(subject string) string {
	u.t.Helper()
	u.git("add", "-A")
	u.git("commit", "-q", "-m", subject)
	return u.git("rev-parse", "HEAD")
}

// series makes three commits on a branch, and gives them as git format-patch
// writes them to one file. The third is on top of a change of the second.
func (u user) series() string {
	u.t.Helper()
	u.git("checkout", "-q", "-b", "wbt", "v6.12")
	u.edit("mm/page-writeback.c", "writeback line 3\n", "writeback line three\n")
	u.commit("mm: write back three")
	u.edit("mm/vmscan.c", "vmscan line 20\n", "vmscan line twenty\n")
	u.commit("mm: scan twenty")
	u.edit("mm/vmscan.c", "vmscan line twenty\n", "vmscan line twenty\nvmscan added\n")
	u.commit("mm: scan more")
	mbox := u.git("format-patch", "--stdout", "--cover-letter", "-v", "2", "v6.12..wbt")
	u.git("checkout", "-q", "master")
	return mbox + "\n"
}

func write(t *testing.T, text string, elements ...string) string {
	t.Helper()
	path := filepath.Join(elements...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func apply(t *testing.T, env Env, base Base, series string) Code {
	t.Helper()
	mails, err := env.Mails(t.Context(), series)
	if err != nil {
		t.Fatal(err)
	}
	c, err := base.Apply(t.Context(), mails)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The same series in all the forms that people have it in gives the same files,
// and in any place the same commit.
func TestSeries(t *testing.T) {
	env := testEnv(t)
	u := newUser(t)
	mbox := u.series()
	dir := t.TempDir()
	file := write(t, mbox, dir, "wbt.mbox")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(mbox))
	z.Close()
	patches := filepath.Join(dir, "patches")
	u.git("format-patch", "-q", "-o", patches, "v6.12..wbt")
	quilted := filepath.Join(dir, "quilt")
	write(t, "# the first\none.patch\ntwo.diff -p0 # paths as they are\n\nthree.patch -p1\n", quilted, "series")
	for i, name := range []string{"one.patch", "two.diff", "three.patch"} {
		commit := fmt.Sprintf("wbt~%d", 2-i)
		args := []string{"diff", commit + "^", commit}
		if name == "two.diff" {
			args = append(args, "--no-prefix")
		}
		write(t, "Description: "+name+"\nAuthor: Jens <jens@example.org>\n\n"+u.git(args...)+"\n", quilted, name)
	}
	mails := strings.Split(mbox, "\nFrom ")
	shuffled := mails[0] + "\nFrom " + mails[3] + "\nFrom " + mails[1] + "\nFrom " + mails[2] + "\n"

	base, err := env.Git(t.Context(), u.dir, "v6.12")
	if err != nil {
		t.Fatal(err)
	}
	want := u.git("rev-parse", "wbt^{tree}")
	ids := map[string]string{}
	for name, series := range map[string]string{
		"mbox": file, "gzip": write(t, packed.String(), dir, "wbt.mbox.gz"), "directory": patches, "quilt": quilted,
		"quilt by its file": filepath.Join(quilted, "series"), "mails out of order": write(t, shuffled, dir, "shuffled"),
	} {
		c := apply(t, env, base, series)
		if c.Tree != want {
			t.Errorf("%s: tree %s, want %s", name, c.Tree, want)
		}
		if len(c.Patches) != 3 {
			t.Errorf("%s: patches %v", name, c.Patches)
		}
		ids[name] = c.Head
	}
	if ids["mbox"] != ids["gzip"] || ids["mbox"] != ids["mails out of order"] || ids["quilt"] != ids["quilt by its file"] {
		t.Errorf("commits differ: %v", ids)
	}

	mails2, err := base.Range(t.Context(), "", "v6.12..wbt")
	if err != nil {
		t.Fatal(err)
	}
	c, err := base.Apply(t.Context(), mails2)
	if err != nil || c.Tree != want {
		t.Errorf("range: %v, %v", c.Tree, err)
	}

	// Another host, another day: a copy of the repository, and a cache of its own.
	other := user{t, filepath.Join(t.TempDir(), "copy")}
	u.git("clone", "-q", u.dir, other.dir)
	env2 := testEnv(t)
	base2, err := env2.Git(t.Context(), other.dir, "v6.12")
	if err != nil {
		t.Fatal(err)
	}
	if c := apply(t, env2, base2, file); c.Head != ids["mbox"] {
		t.Errorf("commit %s here and %s there", ids["mbox"], c.Head)
	}
	// What the id depends on is the author's side only. The value is that of
	// plain git am with the same committer, run below.
	t.Run("as git am", func(t *testing.T) {
		plain := user{t, filepath.Join(t.TempDir(), "plain")}
		u.git("clone", "-q", u.dir, plain.dir)
		plain.git("checkout", "-q", "v6.12")
		for i := range 3 {
			name := filepath.Join(t.TempDir(), "mail")
			write(t, "From "+strings.TrimPrefix(mails[i+1], "From ")+"\n", name)
			cmd := exec.Command("git", "am", "-q", "--3way", "--committer-date-is-author-date", name)
			cmd.Dir = plain.dir
			cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_COMMITTER_NAME=spindle", "GIT_COMMITTER_EMAIL=spindle@localhost")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		if got := plain.git("rev-parse", "HEAD"); got != ids["mbox"] {
			t.Errorf("git am gives %s, we give %s", got, ids["mbox"])
		}
	})
}

// Arms that share their first patches share their commits.
func TestUpto(t *testing.T) {
	env := testEnv(t)
	u := newUser(t)
	file := write(t, u.series(), t.TempDir(), "wbt.mbox")
	base, err := env.Git(t.Context(), u.dir, "v6.12")
	if err != nil {
		t.Fatal(err)
	}
	mails, err := env.Mails(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := base.Apply(t.Context(), mails)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 4 {
		c, err := base.Apply(t.Context(), mails[:n])
		if err != nil {
			t.Fatal(err)
		}
		want := base.Commit
		if n > 0 {
			want = whole.Patches[n-1].Commit
		}
		if c.Head != want || len(c.Patches) != n {
			t.Errorf("up to %d: %s, want %s", n, c.Head, want)
		}
	}
	if n, p, ok := whole.Blame(t.Context(), "mm/vmscan.c", 21); !ok || n != 3 || !strings.HasSuffix(p.Subject, "mm: scan more") {
		t.Errorf("line 21 is of patch %d %q, %v", n, p.Subject, ok)
	}
	if n, _, ok := whole.Blame(t.Context(), "mm/vmscan.c", 20); !ok || n != 2 {
		t.Errorf("line 20 is of patch %d, %v", n, ok)
	}
	if _, _, ok := whole.Blame(t.Context(), "Makefile", 1); ok {
		t.Error("a patch touches the Makefile")
	}
}

func TestBrokenSeries(t *testing.T) {
	env := testEnv(t)
	u := newUser(t)
	mbox := u.series()
	dir := t.TempDir()
	parts := strings.Split(mbox, "\nFrom ")
	patch := func(i int) string { return "From " + strings.TrimPrefix(parts[i], "From ") + "\n" }
	unknown := regexp.MustCompile(`(?m)^index [0-9a-f]+\.\.`) // so that git has nothing to merge with
	u.git("checkout", "-q", "-b", "old", "v6.12")
	u.write("mm/vmscan.c", lines("other", 40))
	u.commit("another vmscan")

	for name, tt := range map[string]struct {
		series string
		rev    string
		kind   fault.Kind
		want   []string // in the error
		tail   string   // in the evidence
	}{
		"wrong base": {mbox, "old", fault.Kernel, []string{`patch 2 of 3 "[PATCH v2 2/3] mm: scan twenty" does not apply`, "mm/vmscan.c"}, "-vmscan line 20\n+vmscan line twenty"},
		"fuzz": {strings.Replace(patch(1), " writeback line 1\n", " writeback line one\n", 1), "v6.12", fault.Kernel,
			[]string{"patch failed: mm/page-writeback.c:1"}, " writeback line one"},
		"applied already": {patch(1), "wbt", fault.Kernel, []string{"does not apply", "all of its changes already"}, ""},
		"garbage in a hunk": {strings.Replace(patch(1), "+writeback line three", "\x00\x01garbage", 1), "v6.12", fault.Kernel,
			[]string{"corrupt patch"}, ""},
		"a file that is not there": {unknown.ReplaceAllString(strings.ReplaceAll(patch(1), "page-writeback.c", "nothing.c"), "index 1234567.."), "v6.12", fault.Kernel, []string{"mm/nothing.c"}, ""},
		"garbage":                  {"\x7fELF\x00\x01\x02 nothing of a patch\n", "v6.12", fault.Plan, []string{"no patch in it"}, ""},
		"empty":                    {"", "v6.12", fault.Plan, []string{"no patch in it"}, ""},
		"only the cover letter":    {patch(0), "v6.12", fault.Plan, []string{"no patch in it"}, ""},
		"a gap":                    {patch(1) + patch(3), "v6.12", fault.Plan, []string{"patch 2 of 3 is missing"}, ""},
		"the last is missing":      {patch(1) + patch(2), "v6.12", fault.Plan, []string{"patch 3 of 3 is missing"}, ""},
		"the first is missing":     {patch(2) + patch(3), "v6.12", fault.Plan, []string{"patch 1 of 3 is missing"}, ""},
		"twice":                    {patch(1) + patch(1), "v6.12", fault.Plan, []string{"two patches are number 1"}, ""},
		"two versions":             {patch(1) + strings.Replace(patch(2), "PATCH v2", "PATCH v3", 1), "v6.12", fault.Plan, []string{"patches of v2 and of v3"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			base, err := env.Git(t.Context(), u.dir, tt.rev)
			if err != nil {
				t.Fatal(err)
			}
			mails, err := env.Mails(t.Context(), write(t, tt.series, dir, strings.ReplaceAll(name, " ", "-")))
			if err == nil {
				_, err = base.Apply(t.Context(), mails)
			}
			if fault.Of(err) != tt.kind || err == nil {
				t.Fatalf("%v: %v", fault.Of(err), err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q in it", err, want)
				}
			}
			if !strings.Contains(fault.Tail(err), tt.tail) {
				t.Errorf("evidence %q, want %q in it", fault.Tail(err), tt.tail)
			}
		})
	}
	left, _ := filepath.Glob(filepath.Join(env.Dir, "tmp", "*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A three-way merge takes a patch whose context moved, as git am --3way does.
func TestMerged(t *testing.T) {
	env := testEnv(t)
	u := newUser(t)
	file := write(t, u.series(), t.TempDir(), "wbt.mbox")
	u.git("checkout", "-q", "-b", "moved", "v6.12")
	u.edit("mm/vmscan.c", "vmscan line 17\n", "vmscan line seventeen\n")
	u.commit("near by")
	base, err := env.Git(t.Context(), u.dir, "moved")
	if err != nil {
		t.Fatal(err)
	}
	if got := apply(t, env, base, file); len(got.Patches) != 3 {
		t.Errorf("%v", got.Patches)
	}
}

// snapshot lists all of a directory with its content, and not its times.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		out[name] = info.Mode().String()
		if d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			out[name] += " " + hash(string(text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Nothing of the user's repository changes, and nothing in it runs.
func TestUserIsLeftAlone(t *testing.T) {
	env := testEnv(t)
	u := newUser(t)
	file := write(t, u.series(), t.TempDir(), "wbt.mbox")
	ran := filepath.Join(t.TempDir(), "ran")
	trap := write(t, "#!/bin/sh\necho \"$0\" >>"+ran+"\ncat\n", t.TempDir(), "trap")
	if err := os.Chmod(trap, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "post-commit", "post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "post-rewrite"} {
		if err := os.Symlink(trap, filepath.Join(u.dir, ".git/hooks", hook)); err != nil {
			if os.IsNotExist(err) {
				err = os.MkdirAll(filepath.Join(u.dir, ".git/hooks"), 0o755)
			}
			if err == nil {
				err = os.Symlink(trap, filepath.Join(u.dir, ".git/hooks", hook))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	u.git("config", "filter.trap.clean", trap)
	u.git("config", "filter.trap.smudge", trap)
	u.git("config", "core.fsmonitor", trap)
	u.git("config", "core.sshCommand", trap)
	u.git("config", "core.pager", trap)
	u.git("config", "diff.external", trap)
	u.git("config", "core.autocrlf", "true")
	u.git("config", "commit.gpgSign", "true")
	u.git("config", "am.threeWay", "false")
	u.git("config", "format.attach", "true")
	u.git("config", "user.name", "Somebody")
	u.write(".git/info/attributes", "* filter=trap diff=trap\n")
	u.write("mm/untracked.c", "new\n")
	u.edit("mm/vmscan.c", "vmscan line 1\n", "vmscan line one\n")
	os.Remove(ran)

	before := snapshot(t, u.dir)
	base, err := env.Git(t.Context(), u.dir, "v6.12")
	if err != nil {
		t.Fatal(err)
	}
	c := apply(t, env, base, file)
	if err := c.Checkout(t.Context(), filepath.Join(env.Dir, "co-git"), mkdir(t, env.Dir, "co")); err != nil {
		t.Fatal(err)
	}
	if _, err := base.Range(t.Context(), "", "v6.12..wbt"); err != nil {
		t.Fatal(err)
	}
	dirty, err := env.Worktree(t.Context(), u.dir)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, env, dirty, file)
	if d := cmp.Diff(before, snapshot(t, u.dir)); d != "" {
		t.Errorf("the user's repository changed:\n%s", d)
	}
	if text, err := os.ReadFile(ran); err == nil {
		t.Errorf("these ran: %s", text)
	}
	if got, want := read(t, filepath.Join(env.Dir, "co/mm/page-writeback.c")), strings.Replace(lines("writeback", 40), "line 3\n", "line three\n", 1); got != want {
		t.Errorf("checked out %q", got)
	}
}

func mkdir(t *testing.T, elements ...string) string {
	t.Helper()
	dir := filepath.Join(elements...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A working tree is taken as it is: changes, new files, not what is ignored.
func TestWorktree(t *testing.T) {
	env := testEnv(t)
	u := newUser(t)
	clean, err := env.Worktree(t.Context(), u.dir)
	if err != nil {
		t.Fatal(err)
	}
	if head := u.git("rev-parse", "HEAD"); clean.Commit != head || clean.Diff != nil {
		t.Errorf("a clean tree is %s with a diff of %d bytes, want %s", clean.Commit, len(clean.Diff), head)
	}
	u.edit("mm/vmscan.c", "vmscan line 1\n", "vmscan line one\n")
	u.write("mm/new.c", "new\n")
	u.write("mm/vmscan.o", "object\n")
	u.write("scratch/mine.txt", "mine\n")
	u.write(".git/info/exclude", "scratch/\n")
	os.Remove(filepath.Join(u.dir, "mm/page-writeback.c"))
	dirty, err := env.Worktree(t.Context(), u.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"-vmscan line 1\n+vmscan line one\n", "+++ b/mm/new.c", "deleted file mode 100644"} {
		if !strings.Contains(string(dirty.Diff), want) {
			t.Errorf("the diff has no %q:\n%s", want, dirty.Diff)
		}
	}
	if strings.Contains(string(dirty.Diff), "vmscan.o") || strings.Contains(string(dirty.Diff), "mine.txt") {
		t.Errorf("ignored files are in the diff:\n%s", dirty.Diff)
	}
	again, err := env.Worktree(t.Context(), u.dir)
	if err != nil || again.Commit != dirty.Commit {
		t.Errorf("again it is %s, %v; it was %s", again.Commit, err, dirty.Commit)
	}
	// The diff makes the tree again.
	u.git("stash", "-q", "-u")
	write(t, string(dirty.Diff), u.dir+".diff")
	u.git("apply", "--index", u.dir+".diff")
	if got, want := u.git("write-tree"), mustTree(t, dirty); got != want {
		t.Errorf("the diff makes %s, want %s", got, want)
	}

	bare := t.TempDir()
	write(t, "VERSION = 6\n", bare, "Makefile")
	write(t, "/*\n", bare, ".gitignore") // as in Debian's source packages
	write(t, "x\n", bare, "mm/x.c")
	b, err := env.Worktree(t.Context(), bare)
	if err != nil {
		t.Fatal(err)
	}
	if names, _ := b.Repo.git(t.Context(), "ls-tree", "-r", "--name-only", b.Commit); names != ".gitignore\nMakefile\nmm/x.c" {
		t.Errorf("files %q", names)
	}
	write(t, "CONFIG_X=y\n", bare, ".config")
	if _, err := env.Worktree(t.Context(), bare); fault.Of(err) != fault.Plan || !strings.Contains(fault.Hint(err), "mrproper") {
		t.Errorf("a tree that was built in: %v", err)
	}
}

func mustTree(t *testing.T, b Base) string {
	t.Helper()
	id, err := b.Repo.git(t.Context(), "rev-parse", b.Commit+"^{tree}")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// A file that is tracked is source, also where .gitignore names it, as Debian's
// names all of a kernel. One that is ignored later on is none any more.
func TestWorktreeIgnored(t *testing.T) {
	env := testEnv(t)
	u := newUser(t)
	u.write(".gitignore", "/*\n")
	u.git("commit", "-q", "-a", "-m", "ignore all")
	u.write("mm/vmscan.c", "changed\n")
	u.write("new.c", "ignored\n")
	u.write("forced.c", "ignored, and added all the same\n")
	u.git("add", "-f", "forced.c")
	files := func(b Base) string {
		t.Helper()
		names, err := b.Repo.git(t.Context(), "ls-tree", "-r", "--name-only", b.Commit)
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	b, err := env.Worktree(t.Context(), u.dir)
	if err != nil {
		t.Fatal(err)
	}
	const all = ".gitignore\nMakefile\nforced.c\nmm/page-writeback.c\nmm/vmscan.c"
	if d := cmp.Diff(all, files(b)); d != "" {
		t.Error(d)
	}
	if text, _ := b.Repo.git(t.Context(), "cat-file", "blob", b.Commit+":mm/vmscan.c"); text != "changed" {
		t.Errorf("a changed file is %q", text)
	}
	u.git("rm", "-q", "--cached", "forced.c")
	os.Remove(filepath.Join(u.dir, "mm/vmscan.c"))
	if b, err = env.Worktree(t.Context(), u.dir); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(".gitignore\nMakefile\nmm/page-writeback.c", files(b)); d != "" {
		t.Error(d)
	}
}

// Files that are the same in two commits keep their times.
func TestCheckoutKeepsTimes(t *testing.T) {
	env := testEnv(t)
	u := newUser(t)
	file := write(t, u.series(), t.TempDir(), "wbt.mbox")
	base, err := env.Git(t.Context(), u.dir, "v6.12")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := base.Apply(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	patched := apply(t, env, base, file)
	gitdir, dir := filepath.Join(env.Dir, "g"), mkdir(t, env.Dir, "w")
	if err := plain.Checkout(t.Context(), gitdir, dir); err != nil {
		t.Fatal(err)
	}
	old := map[string]os.FileInfo{}
	for _, name := range []string{"Makefile", "mm/vmscan.c", "mm/page-writeback.c"} {
		// A second back, so that a new time shows.
		info, _ := os.Stat(filepath.Join(dir, name))
		old[name] = info
	}
	write(t, "left by a build", dir, "mm/vmscan.o")
	if err := patched.Checkout(t.Context(), gitdir, dir); err != nil {
		t.Fatal(err)
	}
	for name, was := range old {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if same := info.ModTime().Equal(was.ModTime()); same != (name == "Makefile") {
			t.Errorf("%s has its old time: %v", name, same)
		}
	}
	if exists(filepath.Join(dir, "mm/vmscan.o")) {
		t.Error("what was no source stayed")
	}
}

func tarball(t *testing.T, files ...*tar.Header) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range files {
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		text := ""
		if h.Typeflag == tar.TypeReg {
			text = "content of " + h.Name + "\n"
			h.Size = int64(len(text))
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(text))
	}
	w.Close()
	return write(t, b.String(), t.TempDir(), "linux.tar")
}

func TestImport(t *testing.T) {
	env := testEnv(t)
	file := tarball(t,
		&tar.Header{Name: "linux-6.12/", Typeflag: tar.TypeDir},
		&tar.Header{Name: "linux-6.12/.gitignore", Typeflag: tar.TypeReg},
		&tar.Header{Name: "linux-6.12/Makefile", Typeflag: tar.TypeReg},
		&tar.Header{Name: "linux-6.12/scripts/a b\"c.sh", Typeflag: tar.TypeReg, Mode: 0o755},
		&tar.Header{Name: "linux-6.12/scripts/link", Typeflag: tar.TypeSymlink, Linkname: "../Makefile"},
		&tar.Header{Name: "linux-6.12/hard", Typeflag: tar.TypeLink, Linkname: "linux-6.12/Makefile"},
	)
	b, err := env.Import(t.Context(), "one", file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Repo.git(t.Context(), "ls-tree", "-r", "--format=%(objectmode) %(path)", b.Commit)
	want := "100644 .gitignore\n100644 Makefile\n100644 hard\n\"100755 scripts/a b\\\"c.sh\"\n120000 scripts/link"
	if err != nil || strings.ReplaceAll(got, `100755 "scripts/a b\"c.sh"`, `"100755 scripts/a b\"c.sh"`) != want {
		t.Errorf("%v\n%s", err, got)
	}
	other := testEnv(t)
	if c, err := other.Import(t.Context(), "another name", file); err != nil || c.Commit != b.Commit {
		t.Errorf("elsewhere it is %s, %v; here %s", c.Commit, err, b.Commit)
	}
	for name, broken := range map[string]string{
		"two directories": tarball(t, &tar.Header{Name: "a/x", Typeflag: tar.TypeReg}, &tar.Header{Name: "b/x", Typeflag: tar.TypeReg}),
		"no directory":    tarball(t, &tar.Header{Name: "x", Typeflag: tar.TypeReg}),
		"empty":           write(t, "", t.TempDir(), "x"),
		"garbage":         write(t, strings.Repeat("no tar file\n", 1000), t.TempDir(), "x"),
		"garbage in xz":   write(t, "\xfd7zXZ\x00garbage", t.TempDir(), "x"),
		"cut short":       write(t, read(t, file)[:2000], t.TempDir(), "x"),
	} {
		_, err := env.Import(t.Context(), name, broken)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, ok := env.Imported(t.Context(), name); ok {
			t.Errorf("%s: it was kept", name)
		}
		if fault.Of(err) != fault.Plan && name != "garbage in xz" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBadSources(t *testing.T) {
	env := testEnv(t)
	u := newUser(t)
	for name, f := range map[string]func(context.Context) error{
		"no repository": func(ctx context.Context) error { _, err := env.Git(ctx, t.TempDir(), "v6.12"); return err },
		"no directory": func(ctx context.Context) error {
			_, err := env.Git(ctx, filepath.Join(t.TempDir(), "none"), "v6.12")
			return err
		},
		"no rev":  func(ctx context.Context) error { _, err := env.Git(ctx, u.dir, "v6.99"); return err },
		"no tree": func(ctx context.Context) error { _, err := env.Worktree(ctx, t.TempDir()); return err },
		"no series": func(ctx context.Context) error {
			_, err := env.Mails(ctx, filepath.Join(t.TempDir(), "none"))
			return err
		},
		"no patches": func(ctx context.Context) error { _, err := env.Mails(ctx, t.TempDir()); return err },
		"range of one": func(ctx context.Context) error {
			b, _ := env.Git(ctx, u.dir, "v6.12")
			_, err := b.Range(ctx, "", "v6.12..v6.99")
			return err
		},
		"empty range": func(ctx context.Context) error {
			b, _ := env.Git(ctx, u.dir, "v6.12")
			_, err := b.Range(ctx, "", "v6.12..v6.12")
			return err
		},
	} {
		if err := f(t.Context()); fault.Of(err) != fault.Plan || err == nil {
			t.Errorf("%s: %v: %v", name, fault.Of(err), err)
		}
	}
}

// A repository elsewhere: here one that git reaches as a URL.
func TestRemote(t *testing.T) {
	env := testEnv(t)
	u := newUser(t)
	u.series()
	url := "file://" + u.dir
	for rev, want := range map[string]string{"v6.12": u.git("rev-parse", "v6.12"), "wbt": u.git("rev-parse", "wbt"), u.git("rev-parse", "wbt~1")[:12]: u.git("rev-parse", "wbt~1")} {
		b, err := env.Git(t.Context(), url, rev)
		if err != nil || b.Commit != want {
			t.Errorf("%s: %s, %v", rev, b.Commit, err)
		}
	}
	b, err := env.Git(t.Context(), url, "v6.12")
	if err != nil {
		t.Fatal(err)
	}
	mails, err := b.Range(t.Context(), url, "v6.12..wbt")
	if err != nil || len(mails) != 3 {
		t.Errorf("%d mails, %v", len(mails), err)
	}
	// Without the network, what was fetched serves.
	os.Rename(u.dir, u.dir+".away")
	if again, err := env.Git(t.Context(), url, "v6.12"); err != nil || again.Commit != b.Commit {
		t.Errorf("%s, %v", again.Commit, err)
	}
	if _, err := env.Git(t.Context(), url, "other"); fault.Of(err) != fault.Machinery || fault.Hint(err) == "" {
		t.Errorf("%v: %v", fault.Of(err), err)
	}
}

func TestNames(t *testing.T) {
	for s, want := range map[string]bool{"v6.12..wbt": true, "a..b": true, "origin/master..origin/wip": true, "v6.12...wbt": true,
		"../wbt.mbox": false, "dir/../wbt.mbox": false, "/srv/a..b": false, "./a..b": false, "wbt.mbox": false, "v6.12..": false, "..wbt": false} {
		if IsRange(s) != want {
			t.Errorf("IsRange(%q) = %v", s, !want)
		}
	}
	for s, want := range map[string]bool{"https://git.kernel.org/x.git": true, "git@host:x.git": true, "ssh://h/x": true, "/srv/linux": false, "linux": false, "../x": false} {
		if IsURL(s) != want {
			t.Errorf("IsURL(%q) = %v", s, !want)
		}
	}
}
