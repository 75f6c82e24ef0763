package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"spindle/images"
	"spindle/internal/fault"
	"spindle/kernels"
	"spindle/reports/record"
)

// Bench is this host, held for samples that are asked for one by one, of one
// cell of a plan and of kernels that are not known beforehand: what a bisection
// needs. A sample is made by the same code as one of [Run].
type Bench struct {
	env   Env
	plan  *Plan
	cell  record.Cell
	kit   *Kit
	agent string // spindle-guest
}

// OnBench holds the host, makes what all samples share, and calls f. The plan's
// own kernel is made too: it is the one by which the host is gauged.
//
// was is what Manifest gave when the samples were begun that these are to stand
// beside, and nil for the first ones. A host or an image that is not the same
// again is refused as by [Resume].
func OnBench(ctx context.Context, env Env, p *Plan, cell record.Cell, was *record.Manifest, f func(context.Context, *Bench) error) error {
	return hold(ctx, env, p.Virtual(), func(ctx context.Context) error {
		kit, err := Prepare(ctx, env, p)
		if err != nil {
			return err
		}
		b := &Bench{env: env, plan: p, cell: cell, kit: kit}
		if b.agent, _, err = images.GuestBinary(ctx, env.images(p)); err != nil {
			return err
		}
		if was == nil {
			err = kit.gauge(ctx, env, p)
		} else {
			kit.Early = gauged(*was)
			if err = same(*was, b.Manifest()); err != nil {
				err = &fault.Error{Kind: fault.Plan, Err: err, Hint: "samples made now could not be compared with those: begin anew, in another directory"}
			}
		}
		if err != nil {
			return err
		}
		return f(ctx, b)
	})
}

// Manifest gives what all samples have in common. Its layout is that of the
// plan, which a bench does not follow.
func (b *Bench) Manifest() record.Manifest { return manifest(b.env, b.kit, b.plan) }

// Make makes a kernel; name is for the person who waits.
func (b *Bench) Make(ctx context.Context, s kernels.Source, name string) (kernels.Artifact, error) {
	e := b.env.kernels(b.plan)
	e.Name = name
	return kernels.Make(ctx, e, b.env.place(b.plan, s))
}

// Sample makes a sample of a kernel in the directory dir, which must not be
// there yet. The block chooses the seeds, as in a run. What our machinery
// failed is tried again on a fresh guest; such attempts stay beside dir, as
// dir.try1 and so on.
func (b *Bench) Sample(ctx context.Context, a kernels.Artifact, block int, dir string) (record.Sample, error) {
	initrd, err := initramfs(ctx, b.env, b.plan, a, b.agent)
	if err != nil {
		return record.Sample{}, err
	}
	kit := *b.kit
	name := b.plan.Arm(b.cell.Arm).Kernel
	kit.Kernels, kit.Initrd, kit.Broken = map[string]kernels.Artifact{name: a}, map[string]string{name: initrd}, nil
	var last error
	for try := range tries {
		draft, err := draftOf(dir)
		if err != nil {
			return record.Sample{}, err
		}
		s, err := carryOut(ctx, b.env, &kit, b.plan, block, b.cell, draft)
		if err == nil {
			s.Attempt = try + 1
			return s, record.Keep(draft, dir, s)
		}
		if ctx.Err() != nil {
			return s, errors.Join(context.Cause(ctx), os.RemoveAll(draft))
		}
		if fault.Of(err) == fault.Plan {
			return s, err
		}
		last = err
		b.env.Log.Printf("%s: %v (attempt %d of %d)", filepath.Base(dir), err, try+1, tries)
	}
	return record.Sample{}, &fault.Error{
		Kind: fault.Machinery, Reason: fault.Reason(last),
		Err:  fmt.Errorf("gave up after %d attempts: %w", tries, last),
		Hint: "each attempt's console.log is in " + dir + ".try*; spindle doctor looks at the host",
	}
}

// draftOf makes the directory of the next attempt at a sample.
func draftOf(dir string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		draft := fmt.Sprintf("%s.try%d", dir, n)
		if err := os.Mkdir(draft, 0o755); !errors.Is(err, os.ErrExist) {
			return draft, err
		}
	}
}
