package pipeline

import (
	"context"
	"fmt"

	"spindle/internal/fault"
	"spindle/reports/record"
)

// Reproduce makes the run in from once more, in the new run directory to: the
// same plan, layout and seed, with the kernels and the image that it had, from
// the store or made again. It refuses where they would not be the same, or
// where samples could not be compared for the accelerator, the memory or the
// drives; another host, QEMU or spindle is what a reproduction may have.
func Reproduce(ctx context.Context, env Env, from, to string) error {
	old, err := record.Open(from)
	if err != nil {
		return err
	}
	m := old.Manifest()
	p, err := Load(m.Plan.Path, []byte(m.Plan.Text))
	if err != nil {
		return fmt.Errorf("reproduce %s: read its plan: %w", from, err)
	}
	if err := p.restore(m); err != nil {
		return fmt.Errorf("reproduce %s: %w", from, err)
	}
	return hold(ctx, env, p.Virtual(), func(ctx context.Context) error {
		kit, err := Prepare(ctx, env, p)
		if err != nil {
			return err
		}
		if err := kit.gauge(ctx, env, p); err != nil {
			return err
		}
		now := manifest(env, kit, p)
		if err := again(m, now); err != nil {
			return &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("reproduce %s: %w", from, err),
				Hint: "to run the plan with what there is now: spindle run " + from + "/plan.yaml"}
		}
		now.Plan.Path = m.Plan.Path
		r, err := record.Create(to, now)
		if err != nil {
			return err
		}
		defer r.Close()
		return carry(ctx, env, kit, p, r)
	})
}

// again says whether a run made now would be the run m once more. What the
// host brings along may differ: its processor, its kernel, QEMU, and the time
// that answers leave early, which is gauged.
func again(m, now record.Manifest) error {
	host := now.Machine.Host
	m.Machine.Host, m.Machine.QEMU = host, now.Machine.QEMU
	drives := make([]record.Drive, len(m.Drives))
	for i, d := range m.Drives {
		if i < len(now.Drives) {
			d.Early = now.Drives[i].Early
		}
		drives[i] = d
	}
	m.Drives = drives
	return same(m, now)
}
