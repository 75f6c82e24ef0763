package main

import (
	"context"
	"fmt"
	"strings"

	"spindle/internal/fault"
	"spindle/pipeline"
)

// plan is the verbs that look at a plan and boot nothing.
func plan(ctx context.Context, a *app, args []string) error {
	f := a.flags("plan")
	if len(args) == 0 {
		return f.wrong("wants check, layout or show")
	}
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
	if word == "show" && len(rest) == 0 {
		fmt.Fprintln(a.stdout, strings.Join(pipeline.EmbeddedNames(), "\n"))
		return nil
	}
	if len(rest) != 1 {
		return f.wrong("%s wants one plan", word)
	}
	switch word {
	case "show":
		return a.showPlan(rest[0])
	case "check":
		return a.checkPlan(ctx, rest[0], *offline)
	case "layout":
		p, err := a.loadPlan(rest[0])
		if err != nil {
			return err
		}
		o := pipeline.AssumedOverhead(p.Machine.Accel)
		if *asJSON {
			return pipeline.WriteLayoutJSON(a.stdout, p, o)
		}
		return pipeline.WriteLayout(a.stdout, p, o)
	}
	return f.wrong("%s: wants check, layout or show", word)
}

// showPlan prints an embedded plan: the way to start one of one's own.
func (a *app) showPlan(name string) error {
	text, ok := pipeline.Embedded(name)
	if !ok {
		return fault.Planf("show plan %s: no plan of that name is built in; there are %s", name, strings.Join(pipeline.EmbeddedNames(), ", "))
	}
	_, err := a.stdout.Write(text)
	return err
}

// checkPlan looks at the plan alone first: what is wrong there is told
// without waiting for a download.
func (a *app) checkPlan(ctx context.Context, path string, offline bool) error {
	p, err := a.loadPlan(path)
	if err != nil {
		return err
	}
	if offline {
		a.log.Printf("kernels not looked at: --offline")
	} else {
		env, err := a.env()
		if err != nil {
			return err
		}
		if _, err := pipeline.MakeKernels(ctx, env, p); err != nil {
			return err
		}
	}
	return pipeline.WriteCheck(a.stdout, p, pipeline.AssumedOverhead(p.Machine.Accel))
}
