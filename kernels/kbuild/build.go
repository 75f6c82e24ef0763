package kbuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/progress"
	"spindle/kernels/kconfig"
	"spindle/kernels/tree"
)

// Env is what a build takes from its surroundings.
type Env struct {
	Dir  string // lanes and the compiler's cache
	Jobs int    // that run at once; 0 is one for each CPU
	Log  *progress.Log

	NoCache bool // do without ccache, also where it is installed
}

// Spec says what is built.
type Spec struct {
	Name     string // for the person who waits
	Code     tree.Code
	Target   Target
	Config   Config
	Compiler Compiler
}

// Kernel gives the version of the source, by its Makefile.
func (s Spec) Kernel(ctx context.Context) (Version, error) {
	text, err := s.Code.File(ctx, "Makefile")
	if err != nil {
		return Version{}, fault.Planf("%s is no kernel: it has no Makefile at its top: %w", s.Code.Name, err)
	}
	v, ok := kernelVersion(text)
	if !ok {
		return Version{}, fault.Planf("%s is no kernel: its Makefile does not say VERSION and PATCHLEVEL", s.Code.Name)
	}
	return v, nil
}

var versionLine = regexp.MustCompile(`(?m)^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$`)

func kernelVersion(makefile string) (Version, bool) {
	part := map[string]string{"SUBLEVEL": "0"}
	for _, m := range versionLine.FindAllStringSubmatch(makefile, -1) {
		part[m[1]] = m[2]
	}
	return ParseVersion(part["VERSION"] + "." + part["PATCHLEVEL"] + "." + part["SUBLEVEL"])
}

// Check says early what cannot be built: the programs that are missing on this
// host, and a compiler that is known not to do.
func (s Spec) Check(ctx context.Context) error {
	if err := checkHost(); err != nil {
		return err
	}
	v, err := s.Kernel(ctx)
	if err != nil {
		return err
	}
	_, err = fit(s.Compiler, v)
	return err
}

// Result is what a build left in its lane.
type Result struct {
	Image   string // file
	Config  string // file
	Modules string // root of lib/modules; "" if there are none
	Release string // uname -r
	Absent  []kconfig.Problem
	Unmet   []kconfig.Problem
	Flags   []string // variables of make beyond those of every build
	Notes   []string
	Objects int // compiled now
}

// Build builds a kernel and calls use while the lane is still held; what is to
// be kept is copied there.
func Build(ctx context.Context, env Env, s Spec, use func(Result) error) error {
	version, err := s.Kernel(ctx)
	if err != nil {
		return err
	}
	h, err := fit(s.Compiler, version)
	if err != nil {
		return err
	}
	series := fmt.Sprintf("%d.%d", version[0], version[1])
	id := laneID(laneRecipe, s.Target.Name, s.Compiler.Path, s.Compiler.Text, strings.Join(Tools(ctx), "\n"), s.Config.Text(), s.Code.Repo.Dir, series)
	l, err := openLane(ctx, filepath.Join(env.Dir, lanes), id, env.Log)
	if err != nil {
		return fmt.Errorf("open lane: %w", err)
	}
	defer l.unlock()
	if err := l.describe(s, series); err != nil {
		return err
	}
	if err := l.begin(); err != nil {
		return err
	}
	b := build{env: env, spec: s, lane: l, help: h}
	if b.before, err = b.launcher(); err == nil {
		err = b.run(ctx, use)
	}
	if settled(err) {
		err = errors.Join(err, l.done())
	}
	return err
}

// settled says whether a build that ended so has left its lane in good order:
// make came to its end by itself, or ended in its own way when it was asked to.
func settled(err error) bool {
	var failed *proc.Error
	if errors.As(err, &failed) && (failed.Signal == 9 || failed.ExitCode < 0 && failed.Err == nil) {
		return false
	}
	return !fault.DiskFull(err)
}

type build struct {
	env    Env
	spec   Spec
	lane   lane
	help   help
	before string // what stands before the compiler: see launcher
}

func (b build) run(ctx context.Context, use func(Result) error) error {
	src, obj := b.lane.path("src"), b.lane.path("obj")
	b.env.Log.Status(0, 0, 0, "kernel %s: checking out %.12s", b.spec.Name, b.spec.Code.Head)
	if err := b.spec.Code.Checkout(ctx, b.lane.path("git"), src); err != nil {
		return err
	}
	if err := b.oldEnough(ctx); err != nil {
		return err
	}
	r := Result{Image: filepath.Join(obj, b.spec.Target.Image), Config: filepath.Join(obj, ".config"), Notes: b.help.notes, Flags: b.extra()}
	b.env.Log.Status(0, 0, 0, "kernel %s: configuring", b.spec.Name)
	config, err := b.configure(ctx, &r)
	if err != nil {
		return err
	}
	stale, done := b.objects(config), 0
	o := &output{step: func(what string) {
		if stale[what] {
			done++
			b.env.Log.Status(done, len(stale), 0, "kernel %s: %s", b.spec.Name, what)
		} else {
			b.env.Log.Status(0, 0, 0, "kernel %s: %s", b.spec.Name, what)
		}
	}}
	goals := []string{b.spec.Target.Goal}
	modules := config["CONFIG_MODULES"] == "y" && hasModules(config)
	if modules {
		goals = append(goals, "modules")
	}
	if err := b.make(ctx, o, goals...); err != nil {
		return err
	}
	r.Objects = o.done
	if modules {
		r.Modules = b.lane.path("modules")
		if err := os.RemoveAll(r.Modules); err != nil {
			return err
		}
		if err := b.make(ctx, &output{}, "modules_install", "INSTALL_MOD_PATH="+r.Modules, "INSTALL_MOD_STRIP=1", "DEPMOD=true"); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(filepath.Join(obj, "include/config/kernel.release"))
	if err != nil {
		return fmt.Errorf("read the kernel's version: %w", err)
	}
	r.Release = strings.TrimSpace(string(text))
	return use(r)
}

func hasModules(c kconfig.Config) bool {
	for _, v := range c {
		if v == "m" {
			return true
		}
	}
	return false
}

// oldEnough asks the tree itself whether the compiler is too old for it; it
// knows since 5.14.
func (b build) oldEnough(ctx context.Context) error {
	script := filepath.Join(b.lane.path("src"), "scripts/min-tool-version.sh")
	if _, err := os.Stat(script); err != nil {
		return nil
	}
	name := map[string]string{"gcc": "gcc", "clang": "llvm"}[b.spec.Compiler.Kind]
	out, err := proc.Run(ctx, proc.Cmd{Path: "sh", Args: []string{script, name}, Setenv: []string{"SRCARCH=" + b.spec.Target.SrcDir, "ARCH=" + b.spec.Target.Name, "LC_ALL=C"}})
	if err != nil {
		return nil // not for us to judge the script of a patched tree
	}
	if least, ok := ParseVersion(string(out.Stdout)); ok && b.spec.Compiler.Version.Before(least) {
		return &fault.Error{Kind: fault.Plan, Reason: "compiler",
			Err:  fmt.Errorf("%s wants %s %s or later, and this is %s", b.spec.Code.Name, b.spec.Compiler.Kind, least, b.spec.Compiler.Text),
			Hint: "name another compiler in the plan with cc:"}
	}
	return nil
}

// variables are what every call of make gets.
func (b build) variables() []string {
	dir := b.lane.dir
	// The last map that fits wins. The first is for the directories themselves,
	// which debug information names as where the compiler ran.
	maps := fmt.Sprintf("-ffile-prefix-map=%[1]s=. -ffile-prefix-map=%[1]s/obj/= -ffile-prefix-map=%[1]s/src/=", dir)
	vars := append([]string{"O=" + b.lane.path("obj")}, b.spec.Target.Make...)
	vars = append(vars,
		"CC="+b.cc(),
		"KBUILD_BUILD_VERSION="+fmt.Sprintf("%.12s", b.spec.Code.Tree),
		"KCFLAGS="+maps+b.help.flags,
		"KAFLAGS="+maps+b.help.flags,
	)
	return append(vars, b.help.make...)
}

// extra gives the variables that are not in every build.
func (b build) extra() []string {
	out := append([]string(nil), b.help.make...)
	if b.help.cc != "" {
		out = append(out, "CC=... "+b.help.cc)
	}
	if b.help.flags != "" {
		out = append(out, "KCFLAGS=..."+b.help.flags, "KAFLAGS=..."+b.help.flags)
	}
	return out
}

// cc gives the compiler as make calls it.
func (b build) cc() string {
	cc := b.spec.Compiler.Path
	if b.help.cc != "" {
		cc += " " + b.help.cc
	}
	if b.before != "" {
		cc = b.before + " " + cc
	}
	return cc
}

// make runs make on goals and variables.
func (b build) make(ctx context.Context, o *output, args ...string) error {
	jobs := b.env.Jobs
	if jobs <= 0 {
		jobs = runtime.NumCPU()
	}
	all := append([]string{"--no-print-directory", fmt.Sprintf("-j%d", jobs), "-C", b.lane.path("src")}, b.variables()...)
	all = append(all, args...)
	env := append(append(append([]string(nil), unset...), fixed...), b.ccache()...)
	env = append(env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(b.lane.dir))
	_, err := proc.Run(ctx, proc.Cmd{Path: "make", Args: all, Setenv: env, Stdout: o, Stderr: o})
	var failed *proc.Error
	if err == nil || !errors.As(err, &failed) {
		return err
	}
	failed.Cmd = "make " + strings.Join(args, " ")
	if ctx.Err() != nil || failed.ExitCode < 0 {
		failed.Output = ""
		return err
	}
	return b.failed(ctx, o)
}

// failed makes an error of a build's output.
func (b build) failed(ctx context.Context, o *output) error {
	f := diagnose(o.said(), b.lane.path("src"), b.lane.path("obj"))
	tail := strings.Join(f.Lines, "\n")
	if f.Host != "" {
		return &fault.Error{Kind: fault.Machinery, Reason: "build", Err: fmt.Errorf("build kernel: %s: %s", f.Host, f), Tail: tail, Hint: f.Hint}
	}
	err := fmt.Errorf("build kernel: %s", f)
	if n, p, ok := b.spec.Code.Blame(ctx, f.File, f.Line); ok {
		err = fmt.Errorf("%w; patch %d of %d touches that file: %q", err, n, len(b.spec.Code.Patches), p.Subject)
	}
	return &fault.Error{Kind: fault.Kernel, Reason: "build", Err: err, Tail: tail}
}
