package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"spindle/images"
	"spindle/kernels"
	"spindle/pipeline/drive"
	"spindle/pipeline/guest"
	"spindle/reports/record"
	"spindle/workloads"
)

// Names that the guest finds its parts by.
const (
	rootSerial = "spindle-root"
	sshPort    = "org.spindle.ssh"
)

// driveSerial is the serial of a guest's test drive, or of the nth of them.
func driveSerial(n int) string { return fmt.Sprint("spindle-d", n) }

// initramfs makes what a kernel's guests share: spindle-guest as init and the
// modules that the plan's conditions need of this kernel. More would be copied
// and unpacked at every boot for nothing.
func initramfs(ctx context.Context, env Env, p *Plan, k kernels.Artifact, agent string) (string, error) {
	order, err := k.Order(p.modules()...)
	if err != nil {
		return "", err
	}
	// Unpacked here: xfs.ko.xz takes an emulated guest seconds, in every sample.
	m := images.Modules{Release: k.Version, Root: k.ModuleDir(), Unpack: true}
	for _, x := range order {
		m.Order = append(m.Order, images.Module(x))
	}
	path, _, err := images.Initramfs(ctx, env.images(p), images.InitramfsSpec{Guest: agent, Modules: m})
	return path, err
}

// modules gives the names of the modules that guests of the plan load.
func (p *Plan) modules() []string {
	names := kernels.BootModules()
	for _, c := range p.Grid() {
		names = append(names, kernels.ModulesFor(p.need(c))...)
	}
	return names
}

// need is what a condition asks of a kernel.
func (p *Plan) need(c record.Condition) kernels.Need {
	n := p.needOfDrive(c.Drive)
	n.Filesystem, n.Scheduler = c.Filesystem, c.Scheduler
	return n
}

// needOfDrive is what a drive of the plan asks of a kernel.
func (p *Plan) needOfDrive(name string) kernels.Need {
	d := p.Drives[name]
	n := kernels.Need{Bus: string(d.Bus)}
	if d.Bus == drive.USB && d.QueueDepth > 1 {
		n.Bus = kernels.UAS
	}
	if d.MD != nil {
		n.Array = "raid" + d.MD.Level
	}
	return n
}

// writeInitrd writes one guest's initrd: the kernel's initramfs, and behind
// it a small archive that only this guest gets, with the keys of its SSH
// server and what its init needs to know. The kernel unpacks both in turn.
func writeInitrd(path, initramfs string, keys guest.Keys, hostname string, openSSH bool, now time.Time) (err error) {
	boot, err := json.Marshal(workloads.Boot{
		Modules: kernels.BootModules(), Root: rootSerial, Port: sshPort, OpenSSH: openSSH, Hostname: hostname, Time: now.Unix(),
	})
	if err != nil {
		return err
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write initrd: %w", err)
	}
	defer func() {
		if cerr := out.Close(); err == nil {
			err = cerr
		}
	}()
	in, err := os.Open(initramfs)
	if err != nil {
		return fmt.Errorf("write initrd: %w", err)
	}
	defer in.Close()
	if _, err := io.Copy(out, in); err != nil {
		return fmt.Errorf("write initrd: %w", err)
	}
	own := func(name string) string { return workloads.InitDir[1:] + "/" + name }
	return images.AppendCpio(out, []images.File{
		{Name: own(workloads.BootFile), Data: boot},
		{Name: own(workloads.HostKeyFile), Mode: 0o600, Data: keys.HostKey},
		{Name: own(workloads.AuthorizedFile), Mode: 0o600, Data: keys.Authorized},
	})
}
