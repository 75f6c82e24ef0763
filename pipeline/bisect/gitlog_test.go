package bisect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/proc"
)

// git itself reads the log, and comes to the same commit.
func TestGitReplay(t *testing.T) {
	s := usual(t)
	dir := t.TempDir()
	f, err := hunt(t, s, &bench{noise: 0.01}, dir)
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, gitLogFile)
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"git bisect start\n", "git bisect bad " + s.names["bad"] + "\n", "git bisect good " + s.names["base"] + "\n",
		"# first bad commit: [" + s.names["culprit"] + "] mm: write back earlier\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	out, err := proc.Run(t.Context(), proc.Cmd{Path: "git", Args: []string{"bisect", "replay", log}, Dir: s.dir, Setenv: []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "LC_ALL=C"}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out.Stdout), s.names["culprit"]+" is the first bad commit") {
		t.Errorf("git says\n%s", out.Stdout)
	}
	for i, c := range f.history.Commits {
		if skip := "git bisect skip " + c.ID; f.state.Skips[c.ID].Commit != "" && !strings.Contains(string(text), skip) {
			t.Errorf("commit %d was skipped, and git's log does not say so", i)
		}
	}
}

// Paths are quoted as git quotes them in its own log.
func TestGitLogPaths(t *testing.T) {
	s := newStory(t)
	s.code(2)
	s.names["bad"] = s.git("rev-parse", "HEAD")
	h, err := repo{s.dir}.readHistory(t.Context(), s.names["base"], s.names["bad"], nil)
	if err != nil {
		t.Fatal(err)
	}
	start := Start{Good: s.names["base"], Bad: s.names["bad"], Paths: []string{"code", "it's here"}}
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, gitLog(newState(start, fixedClock()), h, nil), 0o644); err != nil {
		t.Fatal(err)
	}
	s.git("bisect", "replay", file)
	own := s.git("bisect", "log")
	if line, _, _ := strings.Cut(own[strings.Index(own, "git bisect start"):], "\n"); !strings.Contains(line, `'code' 'it'\''s here'`) {
		t.Errorf("git read %q", line)
	}
}

// What a merge brings in from both sides counts once.
func TestInherit(t *testing.T) {
	// 0 - 1 - 2 - 4 - 5, 1 - 3 - 4
	h := &History{Commits: []Commit{{}, {Parents: []int{0}}, {Parents: []int{1}}, {Parents: []int{1}}, {Parents: []int{2, 3}}, {Parents: []int{4}}}}
	got := h.inherit([]float64{0, 0.125, 0.25, 0.0625, 0.5, 0.0625})
	if d := cmp.Diff([]float64{0, 0.125, 0.375, 0.1875, 0.9375, 1}, got); d != "" {
		t.Error(d)
	}
}
