package main

import (
	"context"
	"fmt"

	"spindle/pipeline"
)

// exitStatus is how a program in the guest ended, which is how spindle ends
// too, without a word.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func shell(ctx context.Context, a *app, args []string) error {
	f := a.flags("shell")
	arm := f.String("arm", "", "`arm` of the plan (default the first)")
	condition := f.String("condition", "", "`words` that pick a condition, such as \"xfs bfq\" (default the first)")
	f.StringVar(&a.scale, "scale", "", "`share` of the plan's memory, files and caches instead of its own, such as 1/8")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return f.wrong("wants one plan file")
	}
	p, err := a.planAt(rest[0])
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
	status, err := pipeline.Shell(ctx, env, p, cell, a.stdin, a.stdout)
	if err == nil && status != 0 {
		return exitStatus(status)
	}
	return err
}
