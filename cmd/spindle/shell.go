package main

import (
	"context"

	"spindle/pipeline"
)

func shell(ctx context.Context, a *app, args []string) error {
	f := a.flags("shell")
	arm := f.String("arm", "", "`arm` of the plan (default the first)")
	condition := f.String("condition", "", "`words` that pick a condition, such as \"xfs bfq\" (default the first)")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return f.wrong("wants one plan file")
	}
	p, err := a.loadPlan(rest[0])
	if err != nil {
		return err
	}
	cell, err := p.Pick(*arm, *condition)
	if err != nil {
		return err
	}
	env, err := a.env()
	if err != nil {
		return err
	}
	return pipeline.Shell(ctx, env, p, cell, a.stdin, a.stdout)
}
