package main

import (
	"context"

	"spindle/reports"
)

// compare merges runs of one plan and reports them as one.
func compare(_ context.Context, a *app, args []string) error {
	f := a.flags("compare")
	o := f.report()
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) < 2 {
		return f.wrong("wants two run directories or more, of one plan")
	}
	for _, dir := range rest {
		if err := isRunDir("compare", dir); err != nil {
			return err
		}
	}
	r, err := reports.Merge(rest)
	if err != nil {
		return err
	}
	return a.show(f, r, o)
}
