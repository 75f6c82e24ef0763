package series

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/pipeline"
	"spindle/reports"
)

// repository is a person's, with a tag v6.12 and a branch topic of four commits
// on top of it, each of which changes a line of its own.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	proctest.Need(t, "git")
	r := repository{t, filepath.Join(t.TempDir(), "linux")}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "-b", "master")
	r.write("Makefile", "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 0\n")
	for _, name := range []string{"a", "b", "c", "d"} {
		r.write("mm/"+name+".c", strings.Repeat("line\n", 20))
	}
	r.commit("base")
	r.git("tag", "v6.12")
	r.git("checkout", "-q", "-b", "topic")
	for _, name := range []string{"a", "b", "c", "d"} {
		r.write("mm/"+name+".c", strings.Repeat("line\n", 10)+"changed\n"+strings.Repeat("line\n", 10))
		r.commit("mm: change " + name + "\n\nFrom here on it is another.")
	}
	return r
}

func (r repository) git(args ...string) string {
	r.t.Helper()
	out, err := proc.Run(r.t.Context(), proc.Cmd{Path: "git", Args: append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"}, args...), Dir: r.dir,
		Setenv: []string{"GIT_AUTHOR_DATE=2026-11-30T10:00:00Z", "GIT_COMMITTER_DATE=2026-11-30T10:00:00Z"}})
	if err != nil {
		r.t.Fatal(err)
	}
	return string(out.Stdout)
}

func (r repository) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r repository) commit(message string) {
	r.git("add", "-A")
	r.git("commit", "-q", "-m", message)
}

// mails gives the topic as git send-email would send it, in a file.
func (r repository) mails() string {
	r.t.Helper()
	text := r.git("format-patch", "--stdout", "--cover-letter", "--thread", "-v2", "v6.12..topic")
	text = strings.Replace(text, "*** SUBJECT HERE ***", "mm: change all", 1)
	text = strings.ReplaceAll(text, "\nFrom here on", "\n>From here on") // as mail programs do
	file := filepath.Join(r.t.TempDir(), "v2.mbox")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
	return file
}

// plan is one with the repository at a commit as its base.
func (r repository) plan(rev string) *pipeline.Plan {
	return load(r.t, fmt.Sprintf(`name: wbt
kernels:
  base: {git: %s, rev: %s}
drives:
  sata: {profile: sata-7200, size: 8GiB}
arms:
  vanilla: {kernel: base}
conditions:
  filesystem: [ext4]
  scheduler: [none]
workloads:
  - dd: {size: 64MiB}
`, r.dir, rev))
}

// laid lays a series out and gives what is known of it, with its arms.
func laid(t *testing.T, p *pipeline.Plan, o Options) (reports.Series, []added, error) {
	t.Helper()
	env := testEnv(t)
	env.Cache = t.TempDir()
	_, source, err := base(p)
	if err != nil {
		t.Fatal(err)
	}
	s := reports.Series{Each: o.Each}
	arms, err := lay(t.Context(), env, p, o, o.Dir, source, &s)
	if err != nil {
		return s, nil, err
	}
	// What was kept is what is measured: it can be read again, and applies.
	for _, a := range arms {
		again := source
		again.Series, again.Upto = a.series, &a.upto
		trials, err := p.TrySeries(t.Context(), env, again)
		if err != nil || len(trials) != a.upto {
			t.Errorf("arm %s: %d patches, %v; want %d", a.name, len(trials), err, a.upto)
		}
		for _, x := range trials {
			if x.Err != nil {
				t.Errorf("arm %s: %v", a.name, x.Err)
			}
		}
	}
	return s, arms, nil
}

func subjects(s reports.Series) (out []string) {
	for _, p := range s.Patches {
		word := p.Arm
		if p.Problem != "" {
			word = "does not apply"
		}
		out = append(out, p.Subject+": "+word)
	}
	return out
}

func TestLay(t *testing.T) {
	r := newRepository(t)
	file := r.mails()
	each := []string{"mm: change a: upto-1", "mm: change b: upto-2", "mm: change c: upto-3", "mm: change d: upto-4"}
	for name, tt := range map[string]struct {
		source Source
		each   bool
		want   []string
		thread bool
	}{
		"an mbox, each":  {Source{Mbox: file}, true, each, true},
		"an mbox":        {Source{Mbox: file}, false, []string{"mm: change a: ", "mm: change b: ", "mm: change c: ", "mm: change d: series"}, true},
		"a range, each":  {Source{Range: "v6.12..topic"}, true, each, false},
		"a shorter one":  {Source{Range: "v6.12..topic~2"}, true, each[:2], false},
		"a single patch": {Source{Range: "v6.12..topic~3"}, true, each[:1], false},
	} {
		t.Run(name, func(t *testing.T) {
			s, arms, err := laid(t, r.plan("v6.12"), Options{Source: tt.source, Each: tt.each, Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, subjects(s)); d != "" {
				t.Errorf("patches (-want +got):\n%s", d)
			}
			if n := len(arms); tt.each && n != len(tt.want) || !tt.each && n != 1 {
				t.Errorf("%d arms", n)
			}
			if tt.thread != (s.Thread != nil) {
				t.Fatalf("thread %+v", s.Thread)
			}
			if s.Thread != nil && (s.Thread.Subject != "[PATCH v2 0/4] mm: change all" || !strings.HasPrefix(s.Thread.MessageID, "<cover.") || s.Title != "mm: change all") {
				t.Errorf("thread %+v, title %q", s.Thread, s.Title)
			}
		})
	}
}

// The second patch is in the base already, and the third needs it not: the ones
// that apply are tried without the one that does not.
func TestLayLeavesOut(t *testing.T) {
	r := newRepository(t)
	file := r.mails()
	r.git("checkout", "-q", "-b", "merged", "v6.12")
	r.write("mm/b.c", strings.Repeat("other\n", 20))
	r.commit("mm: b is another")
	s, arms, err := laid(t, r.plan("merged"), Options{Source: Source{Mbox: file}, Each: true, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"mm: change a: upto-1", "mm: change b: does not apply", "mm: change c: upto-3", "mm: change d: upto-4"}
	if d := cmp.Diff(want, subjects(s)); d != "" {
		t.Errorf("patches (-want +got):\n%s", d)
	}
	if len(arms) != 3 || arms[2].upto != 3 || filepath.Base(arms[2].series) != appliedFile {
		t.Errorf("arms %+v", arms)
	}
	if !strings.Contains(s.Patches[1].Problem, "mm/b.c") {
		t.Errorf("problem %q does not name the file", s.Patches[1].Problem)
	}
	// As a whole it cannot be had.
	s, arms, err = laid(t, r.plan("merged"), Options{Source: Source{Mbox: file}, Dir: t.TempDir()})
	if err != nil || len(arms) != 0 {
		t.Errorf("arms %+v, %v", arms, err)
	}
	if g := s.Judge(nil); !g.Failed() || g.Line() != "patch 2/4 'mm: change b': does not apply" {
		t.Errorf("failed %v: %s", g.Failed(), g.Line())
	}
}

func TestLayRefuses(t *testing.T) {
	r := newRepository(t)
	for name, source := range map[string]Source{
		"no such file":   {Mbox: filepath.Join(r.dir, "none.mbox")},
		"no patch":       {Mbox: filepath.Join(r.dir, "Makefile")},
		"no such commit": {Range: "v6.12..nowhere"},
		"nothing in it":  {Range: "topic..topic"},
	} {
		if _, _, err := laid(t, r.plan("v6.12"), Options{Source: source, Each: true, Dir: t.TempDir()}); fault.Of(err) != fault.Plan {
			t.Errorf("%s: %v, want an error of the plan", name, err)
		}
	}
}

// b4 itself, with a thread on disk in place of the archive.
func TestB4(t *testing.T) {
	proctest.Need(t, "b4", "git")
	r := newRepository(t)
	file := r.mails()
	real, err := proc.LookPath("b4")
	if err != nil {
		t.Fatal(err)
	}
	fake := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nexec %s --offline-mode --no-stdin \"$@\" --use-local-mbox %s\n", real, file)
	if err := os.WriteFile(filepath.Join(fake, "b4"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", fake+":"+os.Getenv("PATH"))
	t.Setenv("HOME", t.TempDir())
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := cover(letters(text))
	id := strings.Trim(c.MessageID, "<>")
	dir := t.TempDir()
	s, arms, err := laid(t, r.plan("v6.12"), Options{Source: Source{B4: id}, Each: true, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"mm: change a: upto-1", "mm: change b: upto-2", "mm: change c: upto-3", "mm: change d: upto-4"}
	if d := cmp.Diff(want, subjects(s)); d != "" || len(arms) != 4 {
		t.Errorf("%d arms, patches (-want +got):\n%s", len(arms), d)
	}
	if s.Thread == nil || s.Thread.MessageID != c.MessageID {
		t.Errorf("thread %+v, want a reply to %s", s.Thread, c.MessageID)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != mboxFile {
		t.Errorf("left in the directory: %v, %v", entries, err)
	}
}

// A series' directory is not written over, and says how to go on.
func TestMakeDir(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir, reports.Series{Source: "x"}); err != nil {
		t.Fatal(err)
	}
	_, err := makeDir(dir)
	if fault.Of(err) != fault.Plan || !strings.Contains(fault.Hint(err), "--resume") {
		t.Errorf("error %v, hint %q", err, fault.Hint(err))
	}
	if s, err := Read(dir); err != nil || s.Source != "x" {
		t.Errorf("read %+v, %v", s, err)
	}
	if _, err := Read(t.TempDir()); fault.Of(err) != fault.Plan {
		t.Errorf("no series: %v", err)
	}
	if err := Resume(context.Background(), pipeline.Env{}, t.TempDir()); fault.Of(err) != fault.Plan {
		t.Errorf("resume of nothing: %v", err)
	}
}
