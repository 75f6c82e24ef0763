package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"spindle/internal/fault"
	"spindle/pipeline"
)

// planWords are the words behind spindle plan. Each has flags and help of its
// own.
func planWords() []verb {
	return []verb{
		{"plan check", "[--offline] FILE", `look for every mistake in a plan, its kernels included; boots nothing.

Kernels from Debian are fetched to look at their configurations; --offline
leaves them out. FILE may be the name of a built-in plan.`, planCheck},
		{"plan layout", "[--json] FILE", `print the cells of a plan, their order and the estimated time; starts nothing.

FILE may be the name of a built-in plan.`, planLayout},
		{"plan show", "[NAME]", "print a built-in plan, to start one of your own with; without NAME list them", planShow},
	}
}

// plan is the verbs that look at a plan and boot nothing.
func plan(ctx context.Context, a *app, args []string) error {
	f := a.flags("plan")
	words := planWords()
	for _, w := range words {
		if len(args) > 0 && "plan "+args[0] == w.name {
			return w.run(ctx, a, args[1:])
		}
	}
	rest, err := f.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(a.stdout)
		for _, w := range words {
			first, _, _ := strings.Cut(w.short, "\n")
			fmt.Fprintf(a.stdout, "  spindle %s %s\n        %s\n", w.name, w.args, first)
		}
	}
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return f.wrong("wants check, layout or show, not %s", rest[0])
	}
	return f.wrong("wants check, layout or show")
}

// planFlags makes the flags of a word behind spindle plan.
func (a *app) planFlags(name string) *flags {
	f := a.flags(name)
	for _, w := range planWords() {
		if w.name == name {
			f.v = w
		}
	}
	return f
}

func planCheck(ctx context.Context, a *app, args []string) error {
	f := a.planFlags("plan check")
	f.StringVar(&a.scale, "scale", "", "`share` of the plan's memory, files and caches instead of its own, such as 1/8")
	offline := f.Bool("offline", false, "do not fetch packages to look at the kernels' configurations")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return f.wrong("wants one plan")
	}
	return a.checkPlan(ctx, rest[0], *offline)
}

func planLayout(_ context.Context, a *app, args []string) error {
	f := a.planFlags("plan layout")
	f.StringVar(&a.scale, "scale", "", "`share` of the plan's memory, files and caches instead of its own, such as 1/8")
	asJSON := f.Bool("json", false, "for programs")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return f.wrong("wants one plan")
	}
	return a.layoutPlan(rest[0], *asJSON)
}

func planShow(_ context.Context, a *app, args []string) error {
	f := a.planFlags("plan show")
	rest, err := f.parse(args)
	switch {
	case err != nil:
		return err
	case len(rest) == 0:
		_, err := fmt.Fprintln(a.stdout, strings.Join(pipeline.EmbeddedNames(), "\n"))
		return err
	case len(rest) > 1:
		return f.wrong("wants one name")
	}
	return a.showPlan(rest[0])
}

// showPlan prints an embedded plan: the way to start one of one's own.
func (a *app) showPlan(name string) error {
	text, ok := pipeline.Embedded(name)
	if !ok {
		return fault.Planf("show plan %s: no such plan; built in: %s", name, strings.Join(pipeline.EmbeddedNames(), ", "))
	}
	_, err := a.stdout.Write(text)
	return err
}

// planAt is loadPlan for a name that may be a built-in plan's with a directory in
// its way, such as one that a run was written to.
func (a *app) planAt(path string) (*pipeline.Plan, error) {
	_, builtin := pipeline.Embedded(path)
	if info, err := os.Stat(path); builtin && err == nil && info.IsDir() && !strings.Contains(path, "/") {
		return nil, &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("read plan %s: a directory of that name hides the built-in plan", path),
			Hint: fmt.Sprintf("run spindle in another directory, or write the plan to a file: spindle plan show %s >mine.yaml", path)}
	}
	return a.loadPlan(path)
}

func (a *app) layoutPlan(path string, asJSON bool) error {
	p, err := a.planAt(path)
	if err != nil {
		return err
	}
	o := pipeline.AssumedOverhead(p.Machine.Accel)
	if asJSON {
		return pipeline.WriteLayoutJSON(a.stdout, p, o)
	}
	return pipeline.WriteLayout(a.stdout, p, o)
}

// checkPlan looks at the plan alone first: what is wrong there is told
// without waiting for a download.
func (a *app) checkPlan(ctx context.Context, path string, offline bool) error {
	p, err := a.planAt(path)
	if err != nil {
		return err
	}
	if err := a.checkKernels(ctx, p, offline); err != nil {
		return err
	}
	return pipeline.WriteCheck(a.stdout, p, pipeline.AssumedOverhead(p.Machine.Accel))
}

// checkKernels looks at the kernels: those that are files of this host also
// without a network.
func (a *app) checkKernels(ctx context.Context, p *pipeline.Plan, offline bool) error {
	local, remote := p.LocalKernels()
	if p.Machine.Accel == "kvm" {
		env, err := a.env()
		if err != nil {
			return err
		}
		if err := p.CheckAccel(ctx, env); err != nil {
			return err
		}
	}
	if offline && len(remote) > 0 {
		a.log.Printf("kernels not looked at: %s (--offline)", strings.Join(remote, ", "))
	}
	if offline && len(local) == 0 {
		return nil
	}
	env, err := a.env()
	if err != nil {
		return err
	}
	if err := p.CheckRoom(env.Temp); err != nil {
		return err
	}
	env.NoBuild = true
	if offline {
		_, err = pipeline.MakeLocalKernels(ctx, env, p)
	} else {
		_, err = pipeline.MakeKernels(ctx, env, p)
	}
	return err
}
