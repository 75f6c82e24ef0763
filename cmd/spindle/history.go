package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"spindle/reports"
)

// history shows the baseline of many runs of one plan over time.
func history(_ context.Context, a *app, args []string) error {
	f := a.flags("history")
	format := f.String("format", "text", "print it as `FORMAT`: text or md")
	out := f.String("o", "", "write history.md, history.html and the plots into `directory` instead")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	switch {
	case len(rest) < 2:
		return f.wrong("wants two run directories or more, of one plan")
	case *format != "text" && *format != "md":
		return f.wrong("no format %q: want text or md", *format)
	}
	for _, dir := range rest {
		if err := isRunDir("history", dir); err != nil {
			return err
		}
	}
	h, err := reports.OpenHistory(rest)
	if err != nil {
		return err
	}
	if *out == "" {
		_, err := fmt.Fprint(a.stdout, h.Text(*format == "md"))
		return err
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return fmt.Errorf("make directory of the history: %w", err)
	}
	if err := h.WriteTo(*out); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, filepath.Join(*out, "history.md"))
	return err
}
