package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"spindle/internal/fault"
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
	info, err := os.Stat(rest[0])
	if err == nil && !info.IsDir() {
		return &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("report %s: a file, not a run directory", rest[0]),
			Hint: "give the directory that spindle run made: spindle report " + filepath.Dir(rest[0])}
	}
	sum, err := reports.Write(rest[0])
	if err != nil {
		return err
	}
	for _, w := range sum.Warnings {
		a.log.Printf("warning: %s", w)
	}
	fmt.Fprintln(a.stdout, filepath.Join(rest[0], "report.md"))
	return nil
}
