package bisect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/internal/progress"
	"spindle/internal/store"
	"spindle/pipeline"
	"spindle/reports/bisection"
)

// wholeVar makes the test binary a bisection: "PLAN DIR CACHE GOOD BAD".
const wholeVar = "BISECT_WHOLE"

const wholePlan = `name: whole
kernels:
  um: {git: linux, rev: main, arch: um, config: [uml, ./more.config]}
image: {file: root.squashfs}
drives:
  sata: {profile: sata-7200, queue-depth: 1}
arms:
  linux: {kernel: um}
conditions:
  filesystem: [ext4]
  scheduler: [mq-deadline]
workloads:
  - dd: {size: 16MiB}
machine: {time: virtual, memory: 256MiB}
`

const moreConfig = `CONFIG_EXT4_FS=y
CONFIG_MQ_IOSCHED_DEADLINE=y
`

// whole is a bisection with all its parts but a real kernel: what make builds
// is a program that keeps time as User Mode Linux does, and says the runtime
// that its source holds.
type whole struct {
	story             // of work/linux
	work, plan, cache string
}

func newWhole(t *testing.T) *whole {
	t.Helper()
	proctest.Need(t, "git", "go", "make", "gcc", "perl", "ld", "flex", "bison", "bc", "gzip", "setarch", "mksquashfs", "unsquashfs")
	w := &whole{work: t.TempDir()}
	w.story = story{t: t, dir: filepath.Join(w.work, "linux"), names: map[string]string{}}
	w.plan, w.cache = filepath.Join(w.work, "plan.yaml"), filepath.Join(w.work, "cache")
	kernels := filepath.Join("..", "..", "kernels")
	if err := os.CopyFS(w.dir, os.DirFS(filepath.Join(kernels, "kbuild", "testdata", "linux"))); err != nil {
		t.Fatal(err)
	}
	patches, err := filepath.Glob(filepath.Join(kernels, "patches", "um", "*.patch"))
	if err != nil || len(patches) == 0 {
		t.Fatalf("%v, %v", patches, err)
	}
	for _, p := range patches {
		w.before(p)
	}
	w.kconfig(filepath.Join(kernels, "kconfig", "fragments", "uml.config"))
	w.makefile()
	w.run("mksquashfs", filepath.Join(w.work, "linux", "mm"), filepath.Join(w.work, "root.squashfs"), "-quiet", "-no-progress")
	w.put(w.work, "plan.yaml", wholePlan)
	w.put(w.work, "more.config", moreConfig)
	return w
}

func (w *whole) put(dir, name, text string) {
	w.t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *whole) run(path string, args ...string) {
	w.t.Helper()
	if _, err := proc.Run(w.t.Context(), proc.Cmd{Path: path, Args: args}); err != nil {
		w.t.Fatal(err)
	}
}

// before writes the files that a patch changes, as far as it shows them.
func (w *whole) before(patch string) {
	text, err := os.ReadFile(patch)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "\ndiff --git ")[1:] {
		name := regexp.MustCompile(`(?m)^--- a/(.*)$`).FindStringSubmatch(part)
		if name == nil {
			continue // a new file
		}
		var b strings.Builder
		for n, hunk := range strings.Split(part, "\n@@ ")[1:] {
			fmt.Fprintf(&b, "/* part %d */\n", n)
			for _, line := range strings.Split(hunk, "\n")[1:] {
				if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "-") && line != "-- " {
					b.WriteString(line[1:] + "\n")
				}
			}
		}
		w.put(w.dir, name[1], b.String())
	}
}

// kconfig has the tree know all symbols that are asked for.
func (w *whole) kconfig(fragment string) {
	text, err := os.ReadFile(fragment)
	if err != nil {
		w.t.Fatal(err)
	}
	var b strings.Builder
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`CONFIG_([A-Z0-9_]+)`).FindAllStringSubmatch(string(text)+moreConfig, -1) {
		if !seen[m[1]] {
			seen[m[1]] = true
			fmt.Fprintf(&b, "config %s\n\tbool \"%s\"\n\n", m[1], m[1])
		}
	}
	w.put(w.dir, "Kconfig", b.String())
}

// makefile has make put the tree's file code behind a program.
func (w *whole) makefile() {
	fake := filepath.Join(w.work, "fake")
	w.run("go", "build", "-o", fake, filepath.Join("..", "machine", "uml", "testdata", "fake"))
	file := filepath.Join(w.dir, "Makefile")
	text, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	const was = "\t@cat $(built) > $@; chmod +x $@\n"
	if !strings.Contains(string(text), was) {
		w.t.Fatal("the miniature kernel's Makefile is not what it was")
	}
	is := "\t@if grep -q '^broken' code; then echo 'mm/vmscan.c:12:9: error: undeclared'; exit 1; fi\n" +
		"\t@{ cat " + fake + "; printf '\\n#kernel\\n'; cat code; echo \"#version $(KBUILD_BUILD_VERSION)\"; } > $@; chmod +x $@\n"
	w.put(w.dir, "Makefile", strings.Replace(string(text), was, is, 1))
}

// history is ten commits and a merge, of which one does not build, one panics
// and one changes the metric by 12 %.
func (w *whole) history() {
	w.begin()
	w.docs(2)
	w.code(1)
	w.replace("", "mm: half a change", "", "broken\n")
	w.replace("", "mm: the other half", "broken\n", "")
	w.git("checkout", "--quiet", "-b", "side")
	w.code(1)
	w.replace("culprit", "mm: write back earlier", "", "level 1.12\n")
	w.docs(1)
	w.git("checkout", "--quiet", "main")
	w.write("other", "a\n")
	w.commit("", "fs: a file of its own")
	w.merge("side")
	w.replace("", "mm: check at boot", "", "panics\n")
	w.replace("", "mm: do not trip over the check", "panics\n", "")
	w.docs(2)
	w.names["bad"] = w.git("rev-parse", "HEAD")
}

func wholeEnv(cache string, log *progress.Log) (pipeline.Env, error) {
	st, err := store.Open(filepath.Join(cache, "store"))
	return pipeline.NewEnv(st, cache, log, time.Now, "", "test", []string{"spindle"}), err
}

// wholeMain is the bisection that is killed.
func wholeMain(args []string) int {
	err := func() error {
		env, err := wholeEnv(args[2], progress.New(os.Stderr, false, time.Now))
		if err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(args[1], logFile)); err == nil {
			return Resume(context.Background(), env, args[1])
		}
		text, err := os.ReadFile(args[0])
		if err != nil {
			return err
		}
		p, err := pipeline.Load(args[0], text)
		if err != nil {
			return err
		}
		return Bisect(context.Background(), env, Options{Plan: p, Good: args[3], Bad: args[4], Dir: args[1]})
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// killAt runs the bisection until it has so many samples, and kills it. It is
// false if that ended before.
func (w *whole) killAt(samples int) bool {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, kill := context.WithCancel(w.t.Context())
	defer kill()
	done := make(chan error, 1)
	go func() {
		out, err := proc.Run(ctx, proc.Cmd{Path: self, Grace: -1, Setenv: []string{
			wholeVar + "=" + strings.Join([]string{w.plan, filepath.Join(w.work, "run"), w.cache, w.names["base"], w.names["bad"]}, " "),
		}})
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w\n%s", err, out.Stderr)
		}
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				w.t.Fatal(err)
			}
			return false
		case <-time.After(5 * time.Millisecond):
		}
		if s, err := ReadLog(filepath.Join(w.work, "run")); err == nil && len(s.Samples) >= samples {
			kill() // SIGKILL, as there is no grace
			<-done
			return true
		}
	}
}

// A whole bisection with real git, real make and the real machine of virtual
// time, killed twice on the way.
func TestWhole(t *testing.T) {
	w := newWhole(t)
	w.history()
	run := filepath.Join(w.work, "run")
	var counts []int
	for _, at := range []int{3, 8} {
		if !w.killAt(at) {
			t.Fatalf("it ended before it had %d samples", at)
		}
		s, err := ReadLog(run)
		if err != nil {
			t.Fatal(err)
		}
		counts = append(counts, len(s.Samples))
	}
	env, err := wholeEnv(w.cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Resume(t.Context(), env, run); err != nil {
		var stopped Stopped
		t.Fatal(errors.As(err, &stopped), err)
	}
	r, err := Report(t.Context(), env, run)
	if err != nil {
		t.Fatal(err)
	}
	text := bisection.Markdown(r)
	if r.Kind != string(Found) || r.Culprits[0].ID != w.names["culprit"] || r.Confirm == nil || r.Confirm.Revert == nil || !r.Confirm.Revert.Change.Claim {
		t.Fatalf("killed at %v samples\n%s", counts, text)
	}
	if r.Boots.Skipped == 0 || r.Boots.Twins == 0 {
		t.Logf("no commit was skipped, or none was the same kernel: %+v", r.Boots)
	}
	s, err := ReadLog(run)
	if err != nil {
		t.Fatal(err)
	}
	// No sample was taken twice: the same kernel in the same block is one.
	seen := map[spot]bool{}
	for _, x := range s.Samples {
		at := spot{s.Kernels[x.Commit].Alike, x.Block}
		if seen[at] {
			t.Errorf("commit %s was measured twice in block %d", short(x.Commit), x.Block)
		}
		seen[at] = true
		if _, err := os.Stat(filepath.Join(run, x.Dir, "sample.json")); err != nil {
			t.Error(err)
		}
	}
	if err := bisection.Write(run, r); err != nil {
		t.Fatal(err)
	}
}
