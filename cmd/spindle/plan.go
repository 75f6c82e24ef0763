package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"spindle/internal/fault"
	"spindle/pipeline"
)

// plan is the verbs that look at a plan and boot nothing.
func plan(ctx context.Context, a *app, args []string) error {
	f := a.flags("plan")
	asJSON := f.Bool("json", false, "layout: for programs")
	offline := f.Bool("offline", false, "check: do not fetch packages to look at the kernels' configurations")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return f.wrong("wants check, layout or show")
	}
	word, rest := rest[0], rest[1:]
	switch {
	case !slices.Contains([]string{"check", "layout", "show"}, word):
		return f.wrong("wants check, layout or show, not %s", word)
	case word == "show" && len(rest) == 0:
		_, err := fmt.Fprintln(a.stdout, strings.Join(pipeline.EmbeddedNames(), "\n"))
		return err
	case len(rest) != 1:
		return f.wrong("%s wants one plan", word)
	case word == "show":
		return a.showPlan(rest[0])
	case word == "check":
		return a.checkPlan(ctx, rest[0], *offline)
	}
	return a.layoutPlan(rest[0], *asJSON)
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

func (a *app) layoutPlan(path string, asJSON bool) error {
	p, err := a.loadPlan(path)
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
	p, err := a.loadPlan(path)
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
	if offline {
		_, err = pipeline.MakeLocalKernels(ctx, env, p)
	} else {
		_, err = pipeline.MakeKernels(ctx, env, p)
	}
	return err
}
