package bisect

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/reports/record"
)

// kernelTree is what a commit's kernel follows from in these tests: the file
// kernel of the tree. Its lines are words:
//
//	level 1.1   multiplies the metric
//	broken      does not build
//	panics      does not run
//
// All else in the tree is documentation.
type kernelTree struct {
	text           string
	level          float64
	broken, panics bool
}

func parseKernel(text string) kernelTree {
	k := kernelTree{text: text, level: 1}
	for line := range strings.Lines(text) {
		var x float64
		switch n, _ := fmt.Sscanf(line, "level %g", &x); {
		case n == 1:
			k.level *= x
		case strings.HasPrefix(line, "broken"):
			k.broken = true
		case strings.HasPrefix(line, "panics"):
			k.panics = true
		}
	}
	return k
}

// story is a repository in the making.
type story struct {
	t     *testing.T
	dir   string
	names map[string]string // of commits, to their ids
	n     int
}

func newStory(t *testing.T) *story {
	t.Helper()
	proctest.Need(t, "git")
	s := &story{t: t, dir: t.TempDir(), names: map[string]string{}}
	return s.begin()
}

// begin makes the first commit, of what is in the directory and two files more.
func (s *story) begin() *story {
	s.git("init", "--quiet", "-b", "main", ".")
	s.write("code", strings.Repeat("code\n", 20))
	s.write("docs", "words\n")
	s.commit("base", "begin")
	return s
}

func (s *story) git(args ...string) string {
	s.t.Helper()
	date := fmt.Sprintf("@%d +0000", 1700000000+60*s.n)
	out, err := proc.Run(s.t.Context(), proc.Cmd{Path: "git", Args: args, Dir: s.dir, Setenv: []string{
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org", "GIT_COMMITTER_DATE=" + date,
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(out.Stdout))
}

func (s *story) write(name, text string) {
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *story) read(name string) string {
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func (s *story) commit(name, subject string) string {
	s.n++
	s.git("add", "-A")
	s.git("commit", "--quiet", "--allow-empty", "-m", subject)
	id := s.git("rev-parse", "HEAD")
	if name != "" {
		s.names[name] = id
	}
	return id
}

// docs adds so many commits that change no kernel.
func (s *story) docs(n int) {
	for range n {
		s.write("docs", s.read("docs")+fmt.Sprintf("more words %d\n", s.n))
		s.commit("", fmt.Sprintf("docs: more words, %d", s.n))
	}
}

// code adds so many commits that change the kernel and not what it measures.
func (s *story) code(n int) {
	for range n {
		s.write("code", s.read("code")+fmt.Sprintf("code %d\n", s.n))
		s.commit("", fmt.Sprintf("mm: other code, %d", s.n))
	}
}

// replace changes a line of the kernel; the old text "" adds one at the top.
func (s *story) replace(name, subject, from, to string) {
	text := s.read("code")
	if from == "" {
		text = to + text
	} else {
		text = strings.Replace(text, from, to, 1)
	}
	s.write("code", text)
	s.commit(name, subject)
}

// usualStory is what usual copies. No test is parallel.
var usualStory *story

// usual is a history of 64 commits with three merges, a stretch that does not
// build, one that panics, and one commit that makes the metric 12 % larger.
func usual(t *testing.T) *story {
	t.Helper()
	proctest.Need(t, "git")
	if usualStory == nil {
		dir, err := os.MkdirTemp("", "bisect-test")
		if err != nil {
			t.Fatal(err)
		}
		usualStory = tellUsual(&story{t: t, dir: dir, names: map[string]string{}})
	}
	s := &story{t: t, dir: t.TempDir(), names: maps.Clone(usualStory.names), n: usualStory.n}
	if err := os.CopyFS(s.dir, os.DirFS(usualStory.dir)); err != nil {
		t.Fatal(err)
	}
	return s
}

func tellUsual(s *story) *story {
	s.begin()
	s.docs(4)
	s.code(3)
	s.git("checkout", "--quiet", "-b", "one")
	s.write("other", "a\n")
	s.commit("", "fs: a file of its own")
	s.docs(5)
	s.git("checkout", "--quiet", "main")
	s.code(5)
	s.merge("one")
	s.replace("", "mm: half a change", "", "broken\n")
	s.docs(3)
	s.replace("", "mm: the other half", "broken\n", "")
	s.code(3)
	s.git("checkout", "--quiet", "-b", "two")
	s.code(2)
	s.replace("culprit", "mm: write back earlier", "", "level 1.12\n")
	s.code(4)
	s.git("checkout", "--quiet", "main")
	s.write("other", "b\n")
	s.commit("", "fs: again")
	for i := range 5 {
		s.write("other", fmt.Sprintf("b%d\n", i))
		s.commit("", "fs: and again")
	}
	s.merge("two")
	s.docs(2)
	s.replace("", "mm: check at boot", "", "panics\n")
	s.code(2)
	s.replace("", "mm: do not trip over the check", "panics\n", "")
	s.git("checkout", "--quiet", "-b", "three")
	s.code(6)
	s.git("checkout", "--quiet", "main")
	s.write("other", "c\n")
	s.commit("", "fs: once more")
	s.merge("three")
	s.docs(6)
	s.code(3)
	s.names["bad"] = s.git("rev-parse", "HEAD")
	return s
}

func (s *story) merge(branch string) {
	s.n++
	s.git("merge", "--quiet", "--no-ff", "-m", "Merge branch '"+branch+"'", branch)
}

// bench is a lab that computes. It counts what it was asked for.
type bench struct {
	work    string // directory of the kernels
	repo    repo
	noise   float64 // of a boot
	drift   float64 // of the host from block to block
	virtual bool
	die     int // after so many samples the context is cancelled; 0 for never
	stop    context.CancelFunc

	mu      sync.Mutex
	boots   map[string]int // by commit
	builds  map[string]int
	results map[string]Result
}

func (b *bench) lab() Lab {
	b.boots, b.builds = map[string]int{}, map[string]int{}
	if b.results == nil {
		b.results = map[string]Result{}
	}
	return Lab{
		Virtual: b.virtual,
		Built:   func(string) bool { return false },
		Build:   b.build,
		Sample:  b.sample,
		Kept: func(dir string) (Result, bool) {
			r, ok := b.results[dir]
			return r, ok
		},
	}
}

var errMissing = errors.New("no such kernel")

func (b *bench) build(ctx context.Context, commit, patch string) (Kernel, error) {
	text, err := b.repo.git(ctx, "show", commit+":code")
	if err != nil {
		return Kernel{}, err
	}
	if patch != "" {
		// The one change there is to take back.
		text = strings.Replace(text, "level 1.12\n", "", 1)
	}
	b.mu.Lock()
	b.builds[commit+patch]++
	b.mu.Unlock()
	if parseKernel(text).broken {
		return Kernel{}, fault.New(fault.Kernel, "build", errors.New("build kernel: mm/vmscan.c:12: error: undeclared"))
	}
	dir, err := os.MkdirTemp(b.work, "code")
	if err != nil {
		return Kernel{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, "code"), []byte(text), 0o644); err != nil {
		return Kernel{}, err
	}
	h := fnv.New64()
	h.Write([]byte(text))
	return Kernel{Hash: commit + patch, Alike: fmt.Sprintf("%x", h.Sum64()), Artifact: dir, Seconds: 40}, nil
}

func (b *bench) sample(ctx context.Context, k Kernel, block int, dir string) (Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, c := range b.boots {
		n += c
	}
	if b.die > 0 && n >= b.die {
		b.stop()
		return Result{}, context.Canceled
	}
	b.boots[k.Commit]++
	text, err := os.ReadFile(filepath.Join(k.Artifact, "code"))
	if err != nil {
		return Result{}, errMissing
	}
	tree := parseKernel(string(text))
	if tree.panics {
		return Result{Outcome: record.Outcome{Kind: record.KernelFault, Reason: "panic", Detail: "Kernel panic - not syncing"}}, nil
	}
	// The drift is one for each block; the noise follows from the kernel and the
	// block in virtual time, and else from how often it was asked for too.
	drift := b.drift * rand.New(rand.NewPCG(7, uint64(block))).NormFloat64()
	h := fnv.New64()
	fmt.Fprint(h, k.Alike, block)
	if !b.virtual {
		fmt.Fprint(h, k.Commit, filepath.Base(dir))
	}
	noise := b.noise * rand.New(rand.NewPCG(3, h.Sum64())).NormFloat64()
	r := Result{Value: 90 * tree.level * math.Exp(drift+noise), Outcome: record.Outcome{Kind: record.OK}, Seconds: 30}
	return r, nil
}

func (b *bench) total() (n int) {
	for _, c := range b.boots {
		n += c
	}
	return n
}

// hunt begins a bisection or goes on with it, and carries it on.
func hunt(t *testing.T, s *story, b *bench, dir string, paths ...string) (*Finder, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.work, b.stop, b.repo = t.TempDir(), cancel, repo{s.dir}
	start := startOf(s.dir, s.names["base"], s.names["bad"])
	start.Paths, start.Virtual = paths, b.virtual
	log, state, err := openOrCreate(dir, ticking(), start)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	h, err := repo{s.dir}.readHistory(ctx, start.Good, start.Bad, paths)
	if err != nil {
		t.Fatal(err)
	}
	f := &Finder{lab: b.lab(), log: log, state: state, history: h, repo: repo{s.dir}}
	return f, f.run(ctx)
}

func startOf(dir, good, bad string) Start {
	return Start{
		Repo: dir, Good: good, Bad: bad, GoodRev: "base", BadRev: "bad",
		Metric: record.MetricInfo{Name: "runtime", Unit: "s", Direction: record.Lower}, Manifest: &record.Manifest{},
	}
}

// ticking is a clock that goes on by a second when it is looked at.
func ticking() func() time.Time {
	clock := time.Unix(1700000000, 0)
	return func() time.Time { clock = clock.Add(time.Second); return clock }
}

func openOrCreate(dir string, now func() time.Time, s Start) (*Log, *State, error) {
	if _, err := os.Stat(filepath.Join(dir, logFile)); err == nil {
		return OpenLog(dir, now)
	}
	log, err := CreateLog(dir, now, s)
	return log, newState(s, now()), err
}

func TestFind(t *testing.T) {
	s := usual(t)
	for _, test := range []struct {
		name         string
		noise, drift float64
		virtual      bool
	}{
		{"quiet", 0.005, 0, false},
		{"noisy", 0.03, 0, false},
		{"drifting", 0.02, 0.15, false},
		{"virtual", 0.01, 0.05, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &bench{noise: test.noise, drift: test.drift, virtual: test.virtual}
			f, err := hunt(t, s, b, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			a := f.state.Answer(f.history)
			if a.Kind != Found || f.history.Commits[a.Culprits[0]].ID != s.names["culprit"] {
				t.Fatalf("%s\n%+v\n%v", a.Line(), a.Confirmation, f.state.Samples)
			}
			if a.Confirmation.Revert == nil || !claimed(a.Confirmation.Revert.Verdict) {
				t.Errorf("the revert was not measured, or changed nothing: %+v", a.Confirmation)
			}
			t.Logf("%d boots, %d builds: %s", b.total(), len(b.builds), a.Line())
			for commit, n := range b.builds {
				if n > 1 {
					t.Errorf("commit %s was built %d times", short(commit), n)
				}
			}
		})
	}
}

// A bisection that is stopped anywhere and gone on with loses the sample at
// work, and takes none twice.
func TestResume(t *testing.T) {
	s := usual(t)
	dir := t.TempDir()
	whole := &bench{noise: 0.02, drift: 0.1}
	f, err := hunt(t, s, whole, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	want := f.state.Samples
	var ended bool
	for range 100 {
		b := &bench{noise: 0.02, drift: 0.1, die: 3}
		f, err = hunt(t, s, b, dir)
		if err == nil {
			ended = true
			break
		}
		// What a kill leaves: the beginning of a line.
		log, err := os.OpenFile(filepath.Join(dir, logFile), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(log, `{"at":"2026-11-30T12:00:00Z","sam`)
		log.Close()
	}
	if !ended {
		t.Fatal("it never ends")
	}
	if got := f.state.Samples; len(got) != len(want) {
		t.Errorf("%d samples with stops in between, %d without", len(got), len(want))
	}
	if a := f.state.Answer(f.history); a.Kind != Found || f.history.Commits[a.Culprits[0]].ID != s.names["culprit"] {
		t.Errorf("%s", a.Line())
	}
}

func TestNoDifference(t *testing.T) {
	s := newStory(t)
	s.code(10)
	s.names["bad"] = s.git("rev-parse", "HEAD")
	b := &bench{noise: 0.01}
	f, err := hunt(t, s, b, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if a := f.state.Answer(f.history); a.Kind != NoDifference {
		t.Errorf("%v with %d kernels: %s", a.Kind, len(b.builds), a.Line())
	}
}

func TestSameKernel(t *testing.T) {
	s := newStory(t)
	s.docs(10)
	s.names["bad"] = s.git("rev-parse", "HEAD")
	b := &bench{noise: 0.01}
	f, err := hunt(t, s, b, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if a := f.state.Answer(f.history); a.Kind != NoDifference || b.total() != 0 {
		t.Errorf("%s, %d boots", a.Line(), b.total())
	}
}

// Where what changed the metric cannot be built by itself, no commit is blamed.
func TestOneOf(t *testing.T) {
	s := newStory(t)
	s.code(6)
	s.replace("a", "mm: half", "", "broken\nlevel 1.12\n")
	s.docs(2)
	s.replace("b", "mm: whole", "broken\n", "")
	s.code(6)
	s.names["bad"] = s.git("rev-parse", "HEAD")
	f, err := hunt(t, s, &bench{noise: 0.01}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a := f.state.Answer(f.history)
	if a.Kind != OneOf || len(a.Culprits) != 4 {
		t.Fatalf("%s", a.Line())
	}
	for _, name := range []string{"a", "b"} {
		if !slices.Contains(a.Culprits, f.history.Index(s.names[name])) {
			t.Errorf("%s is not among them", name)
		}
	}
}

// An end that panics is no regression of performance.
func TestEndPanics(t *testing.T) {
	s := newStory(t)
	s.code(3)
	s.replace("", "mm: panic", "", "panics\n")
	s.names["bad"] = s.git("rev-parse", "HEAD")
	// Gone on with, it is the same as the first time and no answer.
	dir := t.TempDir()
	for range 2 {
		f, err := hunt(t, s, &bench{noise: 0.01}, dir)
		if fault.Of(err) != fault.Kernel || !strings.Contains(fmt.Sprint(err), "bad end") {
			t.Errorf("%v", err)
		}
		if a := f.state.Answer(f.history); a.Kind != Unfinished {
			t.Errorf("answer %v", a.Line())
		}
	}
}

// With paths only the commits that touch them are candidates.
func TestPaths(t *testing.T) {
	s := usual(t)
	h, err := repo{s.dir}.readHistory(t.Context(), s.names["base"], s.names["bad"], []string{"code"})
	if err != nil {
		t.Fatal(err)
	}
	if h.Index(s.names["culprit"]) < 0 || h.Bad().ID != s.names["bad"] {
		t.Error("an end or the culprit is missing")
	}
	for _, c := range h.Commits {
		if strings.HasPrefix(c.Subject, "docs:") && c.ID != s.names["bad"] {
			t.Errorf("%s %q is in", c.Short(), c.Subject)
		}
	}
	f, err := hunt(t, s, &bench{noise: 0.01}, t.TempDir(), "code")
	if err != nil {
		t.Fatal(err)
	}
	if a := f.state.Answer(f.history); a.Kind != Found || f.history.Commits[a.Culprits[0]].ID != s.names["culprit"] {
		t.Errorf("%s", a.Line())
	}
}
