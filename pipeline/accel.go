package pipeline

import (
	"context"
	"strings"

	"spindle/internal/fault"
	"spindle/pipeline/machine"
)

// accelerator finds what runs the guests. Whether KVM does is shown by a real
// boot of the baseline's kernel; without the archive that each guest gets, its
// init speaks and then gives up, which is all that the probe waits for.
func (k *Kit) accelerator(ctx context.Context, env Env, p *Plan) (machine.Accel, error) {
	arm := &p.Arms[0]
	c := k.machine(p, arm)
	c.Initrd, c.Root = k.Initrd[arm.Kernel], ""
	switch p.Machine.Accel {
	case "kvm":
		c.Accel = machine.KVM
	case "tcg":
		c.Accel = machine.TCG
	default:
		c.Accel = "" // find out
	}
	accel, err := machine.ProbeAccel(ctx, c, env.Cache, env.Log)
	if err != nil && fault.Of(err) == fault.Plan && p.Machine.Accel == "kvm" {
		_, why, _ := strings.Cut(err.Error(), "accel: kvm: ")
		return "", p.atAccel(why)
	}
	return accel, err
}
