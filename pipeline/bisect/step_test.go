package bisect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spindle/internal/proc"
)

// The test binary is the program behind git bisect run too.
const (
	stepDirVar  = "BISECT_STEP_DIR"  // of the steps' log
	stepEndsVar = "BISECT_STEP_ENDS" // "GOOD BAD"
	stepFailVar = "BISECT_STEP_FAIL" // machinery fails
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(stepDirVar); dir != "" {
		os.Exit(stepMain(dir, strings.Fields(os.Getenv(stepEndsVar))))
	}
	if args := os.Getenv(wholeVar); args != "" {
		os.Exit(wholeMain(strings.Fields(args)))
	}
	code := m.Run()
	if usualStory != nil {
		os.RemoveAll(usualStory.dir)
	}
	os.Exit(code)
}

// stepMain is a step in the working directory, with a lab that computes.
func stepMain(dir string, ends []string) int {
	if os.Getenv(stepFailVar) != "" {
		return 128 + 3
	}
	here, err := os.Getwd()
	if err != nil {
		return 128
	}
	head, err := repo{here}.git(context.Background(), "rev-parse", "HEAD")
	if err != nil {
		return 128
	}
	side, why, err := stepOf(context.Background(), &bench{noise: 0.01, drift: 0.1}, here, dir, ends[0], head, ends[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 128
	}
	fmt.Println(side, why)
	return int(side)
}

// stepOf is Step with a lab that computes.
func stepOf(ctx context.Context, b *bench, dir, into, good, head, bad string) (Side, string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.work, b.stop, b.repo = filepath.Dir(into), cancel, repo{dir}
	log, state, err := openOrCreate(into, ticking(), startOf(dir, good, bad))
	if err != nil {
		return 0, "", err
	}
	defer log.Close()
	h, err := repo{dir}.three(ctx, good, head, bad)
	if err != nil {
		return 0, "", err
	}
	f := &Finder{lab: b.lab(), log: log, state: state, history: h, repo: repo{dir}, from: state.lastBlock() + 1, most: stepMost}
	return f.side(ctx)
}

// runs is the last commit up to that one that builds and boots.
func (s *story) runs(rev string) string {
	for ; ; rev += "^" {
		if k := parseKernel(s.git("show", rev+":code")); !k.broken && !k.panics {
			return s.git("rev-parse", rev)
		}
	}
}

// Steps over one set of ends: each reads the log of those before.
func TestStep(t *testing.T) {
	s := usual(t)
	dir := filepath.Join(t.TempDir(), "steps")
	b := &bench{noise: 0.01, drift: 0.1}
	ends := 0
	h, err := repo{s.dir}.readHistory(t.Context(), s.names["base"], s.names["bad"], nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Side{
		s.names["culprit"]:                         IsBad,
		s.git("rev-parse", s.names["culprit"]+"^"): IsGood,
		s.git("rev-parse", s.names["bad"]+"~3"):    IsBad,
		s.runs(s.names["culprit"] + "~4"):          IsGood,
	}
	for _, c := range h.Commits {
		if c.Subject == "mm: half a change" || c.Subject == "mm: check at boot" {
			want[c.ID] = IsSkip
		}
	}
	for _, c := range h.Commits {
		side, ok := want[c.ID]
		if !ok {
			continue
		}
		got, why, err := stepOf(t.Context(), b, s.dir, dir, s.names["base"], c.ID, s.names["bad"])
		if err != nil {
			t.Fatal(err)
		}
		if got != side {
			t.Errorf("%s (%s): %v (%s), want %v", c.Short(), c.Subject, got, why, side)
		}
		state, err := ReadLog(dir)
		if err != nil {
			t.Fatal(err)
		}
		if n := state.boots(phaseEnds); ends == 0 {
			ends = n
		} else if n != ends {
			t.Errorf("the ends were measured again: %d boots, %d at first", n, ends)
		}
	}
}

// git bisect run finds the culprit by steps, and ends where one knows nothing.
func TestGitBisectRun(t *testing.T) {
	s := usual(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	git := func(fail string, args ...string) (string, error) {
		out, err := proc.Run(t.Context(), proc.Cmd{Path: "git", Args: args, Dir: s.dir, Setenv: []string{
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "LC_ALL=C",
			stepDirVar + "=" + filepath.Join(t.TempDir(), "steps"), stepEndsVar + "=" + s.names["base"] + " " + s.names["bad"], stepFailVar + "=" + fail,
		}})
		return string(out.Stdout) + string(out.Stderr), err
	}
	if out, err := git("", "bisect", "start", s.names["bad"], s.names["base"]); err != nil {
		t.Fatal(out, err)
	}
	if out, err := git("yes", "bisect", "run", self); err == nil || !strings.Contains(out, "exit code 131") {
		t.Errorf("a step that fails: %v\n%s", err, out)
	}
	out, err := git("", "bisect", "run", self)
	if err != nil || !strings.Contains(out, s.names["culprit"]+" is the first bad commit") {
		t.Errorf("%v\n%s", err, out)
	}
}
