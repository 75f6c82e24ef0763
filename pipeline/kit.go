package pipeline

import (
	"context"
	"fmt"

	"spindle/images"
	"spindle/internal/proc"
	"spindle/kernels"
	"spindle/pipeline/drive"
	"spindle/pipeline/drive/passthrough"
	"spindle/pipeline/machine"
)

// Kit is what all samples of a plan share: made once, before the first boot,
// and taken from the store where it was made before.
type Kit struct {
	Kernels map[string]kernels.Artifact
	Broken  map[string]error  // kernel name -> why it could not be made, by its own fault
	Initrd  map[string]string // kernel name -> initramfs
	Image   images.Image
	Guest   string // sha256 of the spindle-guest binary
	Accel   machine.Accel
	QEMU    string // path
	Version string // of QEMU

	// Disks are the disks of the host that the plan's drives are, by their names.
	Disks map[string]*passthrough.Disk

	// Early is how much early each drive answers, by its name; see gauge.
	Early map[string]drive.Early
}

// Prepare makes what the plan's samples share: kernels, root image, an
// initramfs per kernel; and finds the accelerator by a real boot.
func Prepare(ctx context.Context, env Env, p *Plan) (*Kit, error) {
	k := &Kit{Initrd: map[string]string{}, Broken: map[string]error{}}
	var err error
	if !p.Virtual() {
		if k.QEMU, err = proc.LookPath("qemu-system-x86_64"); err != nil {
			return nil, err
		}
		if k.Version, err = machine.Version(ctx, k.QEMU); err != nil {
			return nil, err
		}
	}
	if err := p.CheckAccel(ctx, env); err != nil {
		return nil, err
	}
	if k.Disks, err = p.CheckHost(ctx, passthrough.ThisHost()); err != nil {
		return nil, err
	}
	if err := p.CheckRoom(env.Temp); err != nil {
		return nil, err
	}
	if k.Kernels, err = p.makeKernels(ctx, env, func(kernels.Source) bool { return true }, k.Broken); err != nil {
		return nil, err
	}
	spec := p.Image
	if spec.File != "" {
		spec.File = env.local(p, spec.File)
	}
	if k.Image, err = images.Make(ctx, env.images(p), spec); err != nil {
		return nil, err
	}
	agent, hash, err := images.GuestBinary(ctx, env.images(p))
	if err != nil {
		return nil, err
	}
	k.Guest = hash
	for _, name := range sortedKeys(k.Kernels) {
		if k.Initrd[name], err = initramfs(ctx, env, p, k.Kernels[name], agent); err != nil {
			return nil, fmt.Errorf("make initramfs for kernel %s: %w", name, err)
		}
	}
	if p.Virtual() {
		k.Accel = virtualAccel
		return k, nil
	}
	k.Accel, err = k.accelerator(ctx, env, p)
	return k, err
}
