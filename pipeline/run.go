package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/reports/record"
)

// tries is how often a sample that our machinery failed is attempted, each
// time on a fresh guest. More would hide a host that is not fit to measure.
const tries = 3

// Stopped is the error of a run that ended before its last sample, with its
// finished samples safe on disk. It wraps the cause.
type Stopped struct {
	Dir  string
	Done int
	Of   int
	Err  error
}

func (s Stopped) Error() string {
	return fmt.Sprintf("stopped with %d of %d samples done: %v", s.Done, s.Of, s.Err)
}

func (s Stopped) Unwrap() error { return s.Err }

// Run carries out the plan in a new run directory. Every finished sample is
// in its place on disk when the next one boots; an error of type [Stopped]
// says how to go on.
func Run(ctx context.Context, env Env, p *Plan, dir string) error {
	place, err := record.Reserve(dir)
	if err != nil {
		return err
	}
	defer place.Close()
	return hold(ctx, env, p.Virtual(), func(ctx context.Context) error {
		kit, err := Prepare(ctx, env, p)
		if err != nil {
			return err
		}
		if err := kit.gauge(ctx, env, p); err != nil {
			return err
		}
		r, err := place.Create(manifest(env, kit, p))
		if err != nil {
			return err
		}
		defer r.Close()
		if err := register(env, dir); err != nil {
			return err
		}
		if env.Begun != nil {
			if err := env.Begun(r); err != nil {
				return err
			}
		}
		return carry(ctx, env, kit, p, r)
	})
}

// Resume goes on with a run that was stopped, by the layout in its manifest.
// A run whose kernels, image or accelerator would not be the same again is
// refused: its samples could not be compared.
func Resume(ctx context.Context, env Env, dir string) error {
	was, err := record.Open(dir)
	if err != nil {
		return err
	}
	return hold(ctx, env, was.Manifest().Machine.Accel == string(virtualAccel), func(ctx context.Context) error {
		r, err := record.Resume(dir)
		if err != nil {
			return err
		}
		defer r.Close()
		m := r.Manifest()
		p, err := Load(m.Plan.Path, []byte(m.Plan.Text))
		if err != nil {
			return fmt.Errorf("resume %s: read its plan: %w", dir, err)
		}
		if err := p.restore(m); err != nil {
			return fmt.Errorf("resume %s: %w", dir, err)
		}
		kit, err := Prepare(ctx, env, p)
		if err != nil {
			return err
		}
		kit.Early = gauged(m)
		if err := same(m, manifest(env, kit, p)); err != nil {
			return &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("resume %s: %w", dir, err),
				Hint: "run the plan anew: spindle run " + m.Plan.Path}
		}
		return carry(ctx, env, kit, p, r)
	})
}

// pin makes the plan's packages those that the run was made with: the archive
// may have newer ones by now, and may have dropped these, but the store has
// them. The record says NAME=VERSION, and of source code then for what and with
// how many patches it was built.
func pin(p *Plan, m record.Manifest) {
	for _, k := range m.Kernels {
		if s, ok := p.Kernels[k.Name]; ok && s.Deb != "" {
			deb, _, _ := strings.Cut(k.Source, " ")
			s.Deb = strings.TrimSuffix(deb, ",")
			p.Kernels[k.Name] = s
		}
	}
}

// hold keeps the host to ourselves: two runs that measure at once measure
// each other, but for two in virtual time.
func hold(ctx context.Context, env Env, virtual bool, f func(context.Context) error) error {
	if err := os.MkdirAll(env.Temp, 0o755); err != nil {
		return fmt.Errorf("make temporary directory: %w", err)
	}
	release, err := exclusive(ctx, env, virtual)
	if err != nil {
		return err
	}
	defer release()
	if gone, err := proc.Sweep(ctx, env.Temp); err != nil {
		env.Log.Printf("%v", err)
	} else if len(gone) > 0 {
		env.Log.Printf("removed what %d interrupted samples left", len(gone))
	}
	return f(ctx)
}

// carry makes the samples that the run lacks, block by block in the order of
// its layout.
func carry(ctx context.Context, env Env, k *Kit, p *Plan, r *record.Run) error {
	if d, ok := r.Decision(); ok {
		env.Log.Printf("%s", d.Why)
		return nil
	}
	blocks := r.Manifest().Blocks
	pace := newPace(p, k, blocks)
	for i, cells := range blocks {
		for _, cell := range cells {
			block := i + 1
			if r.Have(block, cell) {
				pace.had(cell)
				continue
			}
			pace.next(env.Log, block, cell)
			began := time.Now()
			s, err := sample(ctx, env, k, p, r, block, cell)
			if err != nil {
				return Stopped{r.Dir(), pace.done, pace.total, err}
			}
			pace.did(env.Log, s, time.Since(began))
		}
		if end, err := decided(env, r, i+1); err != nil || end {
			return err
		}
	}
	return nil
}

// sample makes one sample and records it, on a fresh guest again where our
// machinery failed.
func sample(ctx context.Context, env Env, k *Kit, p *Plan, r *record.Run, block int, cell record.Cell) (record.Sample, error) {
	var last error
	for try := 0; try < tries; try++ {
		n, err := r.NextAttempt(block, cell)
		if err != nil {
			return record.Sample{}, err
		}
		d, err := r.Begin(block, cell, n)
		if err != nil {
			return record.Sample{}, err
		}
		s, err := carryOut(ctx, env, k, p, block, cell, d.Dir())
		if err == nil {
			return s, d.Commit(s)
		}
		last = err
		if ctx.Err() != nil {
			return s, errors.Join(context.Cause(ctx), d.Abandon("interrupted"))
		}
		if aerr := d.Abandon(err.Error()); aerr != nil {
			return s, errors.Join(err, aerr)
		}
		if fault.Of(err) == fault.Plan {
			return s, fmt.Errorf("block %d, %v: %w", block, cell, err) // another guest would change nothing
		}
		env.Log.Printf("block %d, %v: %v (attempt %d of %d)", block, cell, err, try+1, tries)
	}
	return record.Sample{}, &fault.Error{
		Kind: fault.Machinery, Reason: fault.Reason(last),
		Err:  fmt.Errorf("block %d, %v: gave up after %d attempts: %w", block, cell, tries, last),
		Hint: "each attempt's console.log is under attempts/ in the run directory; spindle doctor looks at the host",
	}
}
