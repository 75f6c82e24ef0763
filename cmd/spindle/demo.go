package main

import (
	"context"
)

// demo is the whole line on this host: what is missing is installed, then the
// embedded plan runs.
func demo(ctx context.Context, a *app, args []string) error {
	f := a.flags("demo")
	yes := f.Bool("yes", false, "install missing host programs without asking")
	out := f.String("o", "", "`directory` of the run (default runs/demo-DATE-TIME)")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return f.wrong("takes no plan; spindle run takes one")
	}
	if err := a.equip(ctx, *yes); err != nil {
		return err
	}
	p, err := a.loadPlan("demo")
	if err != nil {
		return err
	}
	return a.measure(ctx, p, *out, false, false)
}

// equip sees to it that the host has what a run needs.
func (a *app) equip(ctx context.Context, yes bool) error {
	r, err := a.look(ctx)
	if err != nil {
		return err
	}
	lacks := required(r)
	if len(lacks) == 0 {
		return nil
	}
	if err := a.install(ctx, r, lacks, yes); err != nil {
		return err
	}
	if r, err = a.look(ctx); err != nil {
		return err
	}
	if lacks = required(r); len(lacks) > 0 {
		return incomplete(r, lacks)
	}
	return nil
}
