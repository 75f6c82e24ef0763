package pipeline

import (
	"context"
	"strings"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/pipeline/machine"
)

// CheckAccel holds the plan's accelerator against what an earlier boot has
// shown: accel: kvm on a host where KVM is known not to work is a problem of
// the plan. Where nobody has tried yet nothing is said; a run tries.
func (p *Plan) CheckAccel(ctx context.Context, env Env) error {
	if p.Machine.Accel != "kvm" {
		return nil
	}
	qemu, err := proc.LookPath("qemu-system-x86_64")
	if err != nil {
		return nil // a plan may be checked where it cannot run
	}
	why, err := machine.KVMFails(ctx, qemu, env.Cache)
	if err != nil || why == "" {
		return err
	}
	return p.atAccel(why)
}

// atAccel gives a reason why KVM does not work its place in the plan.
func (p *Plan) atAccel(why string) error {
	s := &source{file: p.source.file, lines: p.source.lines}
	s.value(p.root.get("machine", "accel"), "accel: kvm: %s", strings.TrimPrefix(why, "accel: kvm: "))
	return &fault.Error{Kind: fault.Plan, Err: s.err(), Hint: "leave accel out of the plan to take what works, or say tcg"}
}
