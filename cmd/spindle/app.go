package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/term"

	"spindle/internal/fault"
	"spindle/internal/progress"
	"spindle/internal/store"
	"spindle/pipeline"
)

// Exit codes, as the README promises them to scripts.
const (
	exitFine      = 0
	exitKernel    = 1 // the kernel under test failed or regressed where a gate was asked for
	exitPlan      = 2 // the plan or the command line is wrong; nothing was started
	exitMachinery = 3 // our own machinery or this host
)

// app is what a verb may know of the world outside: streams, environment and
// clock come in as values so that tests can give others.
type app struct {
	stdin   *os.File
	stdout  io.Writer
	stderr  io.Writer
	tty     bool // stderr is a terminal: progress may redraw its line
	getenv  func(string) string
	now     func() time.Time
	log     *progress.Log
	command []string // as typed, for the manifest
	scale   string   // of plans, instead of their own; "" leaves it
}

// thisHost is the app of a real command line.
func thisHost() *app {
	tty := term.IsTerminal(int(os.Stderr.Fd()))
	return &app{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, tty: tty,
		getenv: os.Getenv, now: time.Now,
		log: progress.New(os.Stderr, tty, time.Now),
	}
}

// verb is one word of the command line.
type verb struct {
	name  string
	args  string
	short string
	run   func(ctx context.Context, a *app, args []string) error
}

// verbs is a function and not a variable: help lists the table that holds it.
func verbs() []verb {
	return []verb{
		{"demo", "[--yes] [-o DIR]", "compare two Debian kernels on this host, from nothing to a report", demo},
		{"run", "[-o DIR] [--gate] FILE | --resume DIR", "run a plan and write its report", run},
		{"plan", "check|layout|show FILE", "check a plan, lay it out, or print one; starts nothing", plan},
		{"kernel", "build|fetch|list|show|gc", "make kernels from source code and patches, or look at those made", kernel},
		{"drive", "list|show|check [PROFILE|FILE]", "the drives there are, what one is, and whether it does here what it should", drive},
		{"report", "[--format F] [--wide] [--compare AXIS] [-o DIR] DIR", "make the report of a run again from its files, or in another form", report},
		{"compare", "[--format F] [-o DIR] RUN RUN...", "merge runs of one plan, from one host or several, into one report", compare},
		{"history", "[-o DIR] [--format F] RUN RUN...", "show the baseline of many runs of one plan over time, and where it changed", history},
		{"reproduce", "[-o DIR | --with RUN] [--gate] DIR", "make a run once more, and say which of its verdicts held", reproduce},
		{"bisect", "[step] PLAN --good REV --bad REV [-o DIR] [-- PATH...] | --resume DIR | simulate", "find the commit at which a metric changed", bisectVerb},
		{"series", "PLAN --mbox F | --range A..B | --b4 MSGID [--each] [-o DIR]", "test a patch series on top of a plan's first arm, and name the patch at fault", seriesVerb},
		{"shell", "FILE [--arm A] [--condition C]", "boot one cell of a plan and open a terminal in it", shell},
		{"gc", "[-n] [-unused TIME] [RUN...]", "remove from the cache what no run refers to and nobody uses", gc},
		{"doctor", "[--install]", "say what this host has, lacks, and what that means", doctor},
		{"version", "", "print the version", version},
	}
}

// spindle is the program: it picks the verb, runs it and turns its error into
// talk on stderr and an exit code.
func spindle(ctx context.Context, args []string, a *app) int {
	a.command = append([]string{"spindle"}, args...)
	out := &keptError{w: a.stdout}
	a.stdout = out
	ctx = store.WithNotice(ctx, func(path string) { a.log.Printf("waiting for another spindle, which is at %s", path) })
	code := a.verb(ctx, args)
	if code == exitFine && out.err != nil {
		// What was asked for went nowhere, whoever wrote it.
		return a.conclude(fmt.Errorf("write to stdout: %w", out.err))
	}
	return code
}

// keptError keeps the first error of a writer, for those who print and do not
// look.
type keptError struct {
	w   io.Writer
	err error
}

func (k *keptError) Write(p []byte) (int, error) {
	n, err := k.w.Write(p)
	if k.err == nil {
		k.err = err
	}
	return n, err
}

// verb runs what the command line names.
func (a *app) verb(ctx context.Context, args []string) int {
	if len(args) == 0 {
		usage(a.stderr)
		return exitPlan
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		if len(args) > 1 {
			return a.verb(ctx, append(slices.Clone(args[1:]), "-h"))
		}
		usage(a.stdout)
		return exitFine
	case "-version", "--version":
		args[0] = "version"
	}
	for _, v := range verbs() {
		if v.name != args[0] {
			continue
		}
		err := v.run(ctx, a, args[1:])
		a.log.Clear()
		return a.conclude(err)
	}
	fmt.Fprintf(a.stderr, "spindle: %s: no such verb\n", args[0])
	fmt.Fprintln(a.stderr, "spindle: hint: spindle help lists them")
	return exitPlan
}

// conclude says what went wrong and gives the exit code for it.
func (a *app) conclude(err error) int {
	switch {
	case err == nil:
		return exitFine
	case errors.Is(err, flag.ErrHelp):
		return exitFine
	}
	var status exitStatus
	if errors.As(err, &status) {
		return int(status)
	}
	var u usageError
	if errors.As(err, &u) {
		fmt.Fprintf(a.stderr, "spindle: %s\nspindle: hint: spindle %s -h\n", u.msg, u.verb)
		return exitPlan
	}
	var problems pipeline.Problems
	if errors.As(err, &problems) {
		// They carry their own place and caret, as a compiler's do.
		fmt.Fprintln(a.stderr, err)
	} else {
		fmt.Fprintf(a.stderr, "spindle: %v\n", err)
	}
	hint := fault.Hint(err)
	if hint == "" && errors.Is(err, syscall.ENOSPC) {
		hint = "a file system is full: df shows which"
	}
	if hint != "" {
		fmt.Fprintf(a.stderr, "spindle: hint: %s\n", hint)
	}
	switch fault.Of(err) {
	case fault.Plan:
		return exitPlan
	case fault.Kernel:
		return exitKernel
	}
	return exitMachinery
}

// usageError is a command line that cannot be taken.
type usageError struct{ verb, msg string }

func (e usageError) Error() string { return e.msg }

// flags makes the flag set of a verb; its errors come back as usageError and
// its help goes to stdout.
type flags struct {
	*flag.FlagSet
	a *app
	v verb
}

func (a *app) flags(name string) *flags {
	var v verb
	for _, c := range verbs() {
		if c.name == name {
			v = c
		}
	}
	f := &flags{flag.NewFlagSet(name, flag.ContinueOnError), a, v}
	f.SetOutput(io.Discard)
	return f
}

// parse takes flags before and after the positional arguments, as git does,
// and returns the positional ones.
func (f *flags) parse(args []string) ([]string, error) {
	var rest []string
	for {
		err := f.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			f.help()
			return nil, err
		}
		if err != nil {
			return nil, usageError{f.v.name, fmt.Sprintf("%s: %v", f.v.name, err)}
		}
		args = f.Args()
		if len(args) == 0 {
			return rest, f.given()
		}
		rest = append(rest, args[0])
		args = args[1:]
	}
}

// given looks at the flags that were written. An empty text stands for the
// default in most verbs, and is what a script with an unset variable gives.
func (f *flags) given() error {
	var wrong error
	f.Visit(func(fl *flag.Flag) {
		if wrong == nil && fl.Value.String() == "" {
			what, _ := flag.UnquoteUsage(fl)
			wrong = f.wrong("%s is empty: give a %s, or leave it out", dashed(fl.Name), what)
		}
	})
	if wrong != nil || f.a.scale == "" {
		return wrong
	}
	// Said here, because the plan's text has it as a line of its own.
	var s pipeline.Scale
	if err := s.UnmarshalText([]byte(f.a.scale)); err != nil {
		return f.wrong("--scale %v", err)
	}
	return nil
}

// dashed is a flag as the help of verbs writes it.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// has says whether a flag was written.
func (f *flags) has(name string) bool {
	found := false
	f.Visit(func(fl *flag.Flag) { found = found || fl.Name == name })
	return found
}

func (f *flags) help() {
	fmt.Fprintf(f.a.stdout, "usage: spindle %s %s\n\n%s\n", f.v.name, f.v.args, f.v.short)
	var any bool
	f.VisitAll(func(*flag.Flag) { any = true })
	if any {
		fmt.Fprintln(f.a.stdout)
		f.SetOutput(f.a.stdout)
		f.PrintDefaults()
		f.SetOutput(io.Discard)
	}
}

func (f *flags) wrong(format string, args ...any) error {
	return usageError{f.v.name, f.v.name + ": " + fmt.Sprintf(format, args...)}
}

func usage(w io.Writer) {
	fmt.Fprint(w, "spindle tells whether a change to Linux made writeback better or worse.\n\nusage: spindle VERB [ARGUMENTS]\n\n")
	for _, v := range verbs() {
		fmt.Fprintf(w, "  %-9s %s\n", v.name, v.short)
	}
	fmt.Fprint(w, `
spindle VERB -h says more. Files: $SPINDLE_CACHE, else $XDG_CACHE_HOME/spindle,
holds kernels and images; runs go to ./runs unless -o says otherwise.

Exit codes: 0 fine; 1 the kernel under test failed or regressed where --gate
asked; 2 plan or usage; 3 our machinery or this host.

Try:  spindle demo
`)
}

// cacheDir is where artifacts live between runs.
func (a *app) cacheDir() (string, error) {
	if d := a.getenv("SPINDLE_CACHE"); d != "" {
		return filepath.Abs(d)
	}
	if d := a.getenv("XDG_CACHE_HOME"); d != "" {
		return filepath.Join(d, "spindle"), nil
	}
	if d := a.getenv("HOME"); d != "" {
		return filepath.Join(d, ".cache", "spindle"), nil
	}
	return "", fault.Planf("find cache directory: none of SPINDLE_CACHE, XDG_CACHE_HOME and HOME is set")
}
