package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"spindle/internal/fault"
	"spindle/reports"
)

// reportFlags are those of every verb that shows a report.
type reportFlags struct {
	format, axis, baseline, out *string
	wide                        *bool
}

func (f *flags) report() reportFlags {
	return reportFlags{
		format:   f.String("format", "", "print it as `FORMAT` instead: "+strings.Join(reports.Formats(), ", ")),
		wide:     f.Bool("wide", false, "print Markdown without the limit of 72 columns"),
		axis:     f.String("compare", "", "compare another `AXIS` of the same samples: filesystem, scheduler, drive or kernel"),
		baseline: f.String("baseline", "", "the `VALUE` of that axis that the others are compared with"),
		out:      f.String("o", "", "`directory` for the report's files"),
	}
}

func report(_ context.Context, a *app, args []string) error {
	f := a.flags("report")
	o := f.report()
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return f.wrong("wants one run directory")
	}
	if err := isRunDir("report", rest[0]); err != nil {
		return err
	}
	r, err := reports.Open(rest[0])
	if err != nil {
		return err
	}
	// What is made from the run as it is belongs beside it; anything else is
	// printed.
	if *o.out == "" && *o.format == "" && !*o.wide && *o.axis == "" {
		*o.out = rest[0]
	}
	return a.show(f, r, o)
}

// manifestFile is what a run directory has at its top.
const manifestFile = "manifest.json"

// isRunDir refuses what is no run directory.
func isRunDir(verb, path string) error {
	wrong := func(what, hint string) error {
		return &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("%s %s: %s", verb, path, what), Hint: hint}
	}
	const made = "a run directory is one that `spindle run` made; it has a " + manifestFile
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return wrong("no such directory", made)
	case err != nil:
		return nil // for the reader to say
	case info.IsDir():
		if _, err := os.Stat(filepath.Join(path, manifestFile)); errors.Is(err, os.ErrNotExist) {
			return wrong("no run directory: it has no "+manifestFile, made)
		}
		return nil
	}
	dir := filepath.Dir(path)
	if _, err := os.Stat(filepath.Join(dir, manifestFile)); err == nil {
		return wrong("a file, not a run directory", fmt.Sprintf("give the directory it is in: spindle %s %s", verb, dir))
	}
	if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
		return wrong("a file, not a run directory", fmt.Sprintf("a plan is run first: spindle run %s; then: spindle %s DIR, with the directory that it names", path, verb))
	}
	return wrong("a file, not a run directory", made)
}

// show prints a report or writes its files.
func (a *app) show(f *flags, r *reports.Report, o reportFlags) error {
	for _, w := range r.Summary().Warnings {
		a.log.Printf("warning: %s", w)
	}
	if *o.baseline != "" && *o.axis == "" {
		return f.wrong("--baseline is a value of what --compare names")
	}
	if *o.axis != "" {
		var err error
		if r, err = r.Against(*o.axis, *o.baseline); err != nil {
			return err
		}
	}
	if *o.out != "" {
		if *o.format != "" || *o.wide {
			return f.wrong("-o writes all files of a report; --format and --wide print one")
		}
		if err := os.MkdirAll(*o.out, 0o755); err != nil {
			return fmt.Errorf("make directory of the report: %w", err)
		}
		if err := r.WriteTo(*o.out); err != nil {
			return err
		}
		fmt.Fprintln(a.stdout, filepath.Join(*o.out, "report.md"))
		return nil
	}
	format := *o.format
	if format == "" {
		format = "md"
	}
	out, err := r.Render(format, *o.wide)
	if err != nil {
		return err
	}
	if _, err := a.stdout.Write(out); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}
