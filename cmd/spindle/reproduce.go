package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"spindle/internal/fault"
	"spindle/pipeline"
	"spindle/reports"
)

// reproduce makes a run once more and says which of its verdicts held.
func reproduce(ctx context.Context, a *app, args []string) error {
	f := a.flags("reproduce")
	out := f.String("o", "", "`directory` of the new run (default DIR-again-DATE-TIME)")
	with := f.String("with", "", "compare with the run in `RUN` that was made already, and start nothing")
	gate := f.Bool("gate", false, "exit 1 if a verdict fell")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	switch {
	case len(rest) != 1:
		return f.wrong("wants one run directory")
	case *with != "" && *out != "":
		return f.wrong("--with names a run that is there, -o one to be made")
	}
	if err := isRunDir("reproduce", rest[0]); err != nil {
		return err
	}
	then, err := reports.Open(rest[0])
	if err != nil {
		return err
	}
	dir := *with
	if dir == "" {
		if dir = *out; dir == "" {
			dir = filepath.Clean(rest[0]) + "-again-" + a.now().Format("20060102-150405")
		}
		env, err := a.env()
		if err != nil {
			return err
		}
		if err := a.finish(dir, false, pipeline.Reproduce(ctx, env, rest[0], dir)); err != nil {
			var stopped pipeline.Stopped
			if errors.As(err, &stopped) {
				a.log.Printf("and then: spindle reproduce %s --with %s", rest[0], dir)
			}
			return err
		}
	}
	now, err := reports.Open(dir)
	if err != nil {
		return err
	}
	held := reports.Again(then, now)
	fmt.Fprint(a.stdout, held.Text)
	if *gate && held.Fell > 0 {
		return fault.Kernelf("gate: %d of %d verdicts fell", held.Fell, held.Held+held.Fell+held.Open)
	}
	return nil
}
