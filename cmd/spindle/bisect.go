package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"spindle/internal/fault"
	"spindle/pipeline/bisect"
	"spindle/reports/bisection"
)

// bisectWords are the words that may stand behind spindle bisect instead of a
// plan.
func bisectWords() map[string]func(context.Context, *app, []string) error {
	return map[string]func(context.Context, *app, []string) error{
		"step": bisectStep, "report": bisectReport, "simulate": bisectSimulate,
	}
}

// bisectUsage gives flags the usage of a word of its own behind bisect.
func (a *app) bisectUsage(word, args, short string) *flags {
	f := a.flags("bisect " + word)
	f.v = verb{name: "bisect " + word, args: args, short: short}
	return f
}

// bisectFlags are those of every word with a plan.
type bisectFlags struct{ good, bad, metric, condition, out *string }

func (f *flags) bisect(out string) bisectFlags {
	return bisectFlags{
		good:      f.String("good", "", "`commit` before the change"),
		bad:       f.String("bad", "", "`commit` after the change, or the one that made it"),
		metric:    f.String("metric", "", "`name` of the metric (default the workload's first)"),
		condition: f.String("condition", "", "`words` that pick a condition, such as \"xfs bfq\" (needed where the plan has several)"),
		out:       f.String("o", "", out),
	}
}

// options reads the plan and the ends.
func (b bisectFlags) options(a *app, f *flags, rest []string) (bisect.Options, error) {
	switch {
	case len(rest) == 0:
		return bisect.Options{}, f.wrong("wants a plan file")
	case *b.good == "" || *b.bad == "":
		return bisect.Options{}, f.wrong("wants both ends: --good REV --bad REV")
	}
	p, err := a.planAt(rest[0])
	if err != nil {
		return bisect.Options{}, err
	}
	return bisect.Options{Plan: p, Good: *b.good, Bad: *b.bad, Paths: rest[1:], Metric: *b.metric, Condition: *b.condition, Dir: *b.out}, nil
}

// bisectVerb finds the commit at which a metric changed.
func bisectVerb(ctx context.Context, a *app, args []string) error {
	if len(args) > 0 {
		if word, ok := bisectWords()[args[0]]; ok {
			return word(ctx, a, args[1:])
		}
	}
	f := a.flags("bisect")
	b := f.bisect("`directory` of the bisection (default runs/NAME-bisect-DATE-TIME)")
	resume := f.String("resume", "", "go on with the bisection in `DIR`")
	asJSON := f.Bool("json", false, "print the answer as JSON instead of the report's path")
	f.StringVar(&a.scale, "scale", "", "`share` of the plan's memory, files and caches instead of its own, such as 1/8")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	env, err := a.env()
	if err != nil {
		return err
	}
	if *resume != "" {
		if len(rest) > 0 || *b.good+*b.bad+*b.metric+*b.condition+*b.out+a.scale != "" {
			return f.wrong("--resume takes its plan, its ends and its place from the directory")
		}
		return a.bisected(ctx, *resume, *asJSON, bisect.Resume(ctx, env, *resume))
	}
	o, err := b.options(a, f, rest)
	if err != nil {
		return err
	}
	if o.Dir == "" {
		o.Dir = filepath.Join("runs", o.Plan.Name+"-bisect-"+a.now().Format("20060102-150405"))
	}
	return a.bisected(ctx, o.Dir, *asJSON, bisect.Bisect(ctx, env, o))
}

// bisected writes the report of what is known, also after an interrupt.
func (a *app) bisected(ctx context.Context, dir string, asJSON bool, err error) error {
	var stopped bisect.Stopped
	if err != nil && !errors.As(err, &stopped) {
		return err
	}
	r, rerr := a.bisectReport(context.WithoutCancel(ctx), dir, asJSON)
	if rerr != nil {
		return errors.Join(err, rerr)
	}
	if err != nil {
		if fault.Of(err) != fault.Kernel {
			a.log.Printf("to go on: spindle bisect --resume %s", dir)
		}
		return err
	}
	if r.Kind != "found" {
		return fault.Kernelf("bisect: no commit is named: %s", r.Line())
	}
	return nil
}

// bisectReport writes the report of a bisection again, from its log and its
// repository.
func bisectReport(ctx context.Context, a *app, args []string) error {
	f := a.bisectUsage("report", "[--json] DIR", "write the report of a bisection again, from its log and its repository")
	asJSON := f.Bool("json", false, "print the answer as JSON instead of the report's path")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return f.wrong("wants the directory of a bisection")
	}
	_, err = a.bisectReport(ctx, rest[0], *asJSON)
	return err
}

func (a *app) bisectReport(ctx context.Context, dir string, asJSON bool) (bisection.Result, error) {
	env, err := a.env()
	if err != nil {
		return bisection.Result{}, err
	}
	r, err := bisect.Report(ctx, env, dir)
	if err != nil {
		return r, err
	}
	if err := bisection.Write(dir, r); err != nil {
		return r, err
	}
	a.log.Clear()
	if !asJSON {
		fmt.Fprintln(a.stdout, filepath.Join(dir, bisection.MarkdownFile))
		return r, nil
	}
	text, err := bisection.JSON(r)
	if err == nil {
		_, err = a.stdout.Write(text)
	}
	return r, err
}
