package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"path/filepath"

	"spindle/pipeline/bisect"
)

// abort is added to the exit code of a step that knows nothing: git bisect run
// ends with 128 and above, where a lower code would be taken for an answer.
const abort = 128

// bisectStep says on which side HEAD is, as git bisect run wants it.
func bisectStep(ctx context.Context, a *app, args []string) error {
	f := a.bisectUsage("step", "PLAN --good REV --bad REV [-o DIR]", `say on which side HEAD is, inside a git bisect run of one's own.

Exit codes are git's: 0 good, 1 bad, 125 not to be told; 128 and more end git's
bisection, where the step itself failed.`)
	b := f.bisect("`directory` where the ends are kept (default one in the cache, by plan and ends)")
	side, why, err := a.step(ctx, f, b, args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		a.log.Clear()
		return exitStatus(abort + a.conclude(err))
	}
	a.log.Clear()
	fmt.Fprintf(a.stdout, "%v: %s\n", side, why)
	if side == bisect.IsGood {
		return nil
	}
	return exitStatus(side)
}

func (a *app) step(ctx context.Context, f *flags, b bisectFlags, args []string) (bisect.Side, string, error) {
	rest, err := f.parse(args)
	if err != nil {
		return 0, "", err
	}
	if len(rest) > 1 {
		return 0, "", f.wrong("takes one plan; paths are for git bisect start")
	}
	o, err := b.options(a, f, rest)
	if err != nil {
		return 0, "", err
	}
	env, err := a.env()
	if err != nil {
		return 0, "", err
	}
	if o.Dir == "" {
		id := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %q", o.Plan.File, o.Plan.Text, o.Good, o.Bad, o.Metric, o.Condition))
		o.Dir = filepath.Join(env.Cache, "bisect", fmt.Sprintf("%x", id[:8]))
	}
	return bisect.Step(ctx, env, o)
}
