package main

import (
	"context"
	"fmt"
	"path/filepath"

	"spindle/reports"
)

func report(_ context.Context, a *app, args []string) error {
	f := a.flags("report")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return f.wrong("wants one run directory")
	}
	if _, err := reports.Write(rest[0]); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, filepath.Join(rest[0], "report.md"))
	return nil
}
