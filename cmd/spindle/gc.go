package main

import (
	"context"
	"fmt"
	"time"

	"spindle/pipeline"
)

// gc removes what the cache can do without.
func gc(ctx context.Context, a *app, args []string) error {
	return a.collect(ctx, a.flags("gc"), args, false)
}

// kernelGC is gc for kernels only.
func kernelGC(ctx context.Context, a *app, f *flags, args []string) error {
	return a.collect(ctx, f, args, true)
}

func (a *app) collect(ctx context.Context, f *flags, args []string, kernels bool) error {
	dry := f.Bool("n", false, "say what would be removed, and remove nothing")
	unused := f.String("unused", "720h", "keep what was asked for within this `time`; 0s keeps only what runs refer to")
	runs, err := f.parse(args)
	if err != nil {
		return err
	}
	g := pipeline.Garbage{Runs: runs, Kernels: kernels, DryRun: *dry}
	if g.Unused, err = time.ParseDuration(*unused); err != nil || g.Unused < 0 {
		return f.wrong("-unused %s: want a time such as 720h", *unused)
	}
	env, err := a.env()
	if err != nil {
		return err
	}
	var total int64
	err = pipeline.Collect(ctx, env, g, func(r pipeline.Removed) {
		total += r.Size
		fmt.Fprintf(a.stdout, "%8s  %s\n", megabytes(r.Size), r.What)
		a.log.Status(0, 0, 0, "%s", r.Path)
	})
	if err != nil {
		return err
	}
	a.log.Clear()
	verb := "freed"
	if *dry {
		verb = "would free"
	}
	if _, err := fmt.Fprintf(a.stdout, "%8s  %s\n", megabytes(total), verb); err != nil {
		return err
	}
	return nil
}

func megabytes(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/1e6) }
