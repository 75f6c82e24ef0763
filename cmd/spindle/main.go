// Command spindle answers whether a change to Linux made writeback better or
// worse: it boots every sample of a plan in a fresh guest on a modelled drive,
// compares the arms in blocks, and writes a report fit for a review thread.
//
// This package is the tool and nothing else: one file a verb, flags in, text
// out, exit code. What the verbs do lives in pipeline, kernels, images,
// workloads and reports.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	// The first signal asks the run to end cleanly. Giving the default back
	// then lets a second Ctrl-C end a shutdown that hangs.
	context.AfterFunc(ctx, stop)
	os.Exit(spindle(ctx, os.Args[1:], thisHost()))
}
