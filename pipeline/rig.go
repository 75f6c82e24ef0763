package pipeline

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"spindle/images"
	"spindle/internal/fault"
	"spindle/internal/nbd"
	"spindle/internal/proc"
	"spindle/kernels"
	"spindle/pipeline/drive"
	"spindle/pipeline/drive/passthrough"
	"spindle/pipeline/drive/timing"
	"spindle/pipeline/guest"
	"spindle/pipeline/machine"
	"spindle/reports/record"
)

// rig is one cell brought up: a fresh guest with a fresh drive, reached over
// SSH. It owns everything that it started; Close ends it all. The zero rig has
// started nothing.
type rig struct {
	seed    uint64 // of the drive's model and of the workload: the same for all arms of a block
	drives  bank
	machine *machine.Machine
	guest   *guest.Guest
	boot    time.Duration // from the start of QEMU until the guest answers over SSH
	keep    string        // where the drives' content stays; "" is nowhere
	made    string        // how the file system was made that is on the drives already; "" is none
	closers []func()
}

// bringUp boots the cell in a zero rig; console.log goes to dir. Also after an
// error the rig can be asked how its machine ended, and wants its Close.
//
// The error is the kernel's fault if that panicked or hung on its way up, and
// else ours.
func (r *rig) bringUp(ctx context.Context, env Env, k *Kit, p *Plan, block int, cell record.Cell, dir string) error {
	arm := p.Arm(cell.Arm)
	temp, remove, err := proc.TempDir(ctx, env.Temp, "sample")
	if err != nil {
		return err
	}
	r.onClose(func() { remove() })
	disks, err := r.plug(ctx, env, k, p, block, cell, temp)
	if err != nil {
		return fmt.Errorf("make drive %s: %w", cell.Condition.Drive, err)
	}
	keys, err := guest.NewKeys(env.Rand)
	if err != nil {
		return err
	}
	initrd := filepath.Join(temp, "initrd")
	if err := writeInitrd(initrd, k.Initrd[arm.Kernel], keys, "spindle", p.Image.SSH == images.OpenSSH, env.Now()); err != nil {
		return err
	}
	began := time.Now()
	config := k.machine(p, arm)
	config.Append = append(config.Append, kernels.Cmdline(kernels.Need{Scheduler: cell.Condition.Scheduler})...)
	config.Initrd, config.Drives, config.Dir, config.Sockets = initrd, disks, dir, temp
	if r.machine, err = machine.Start(ctx, config); err != nil {
		return err
	}
	r.onClose(r.machine.Close)
	select {
	case <-r.machine.Ready():
	case <-r.machine.Done():
		return r.machine.Ending().Err()
	}
	if r.guest, err = guest.Dial(ctx, r.machine.Channel(), keys, guest.Options{}); err != nil {
		return r.explain(ctx, err)
	}
	r.onClose(func() { r.guest.Close() })
	r.boot = time.Since(began)
	return nil
}

// machine gives what all guests of an arm have in common.
func (k *Kit) machine(p *Plan, arm *Arm) machine.Config {
	c := machine.Config{
		QEMU: k.QEMU, Kernel: k.Kernels[arm.Kernel].Boot, Root: k.Image.Root,
		Memory: p.memory(arm), CPUs: p.cpus(arm), Accel: k.Accel,
		Libvirt:   p.Machine.Libvirt,
		BootLimit: p.Machine.BootLimit.Std(),
	}
	if arm.Cmdline != "" {
		c.Append = []string{arm.Cmdline}
	}
	return c
}

// plug makes the cell's drive: one disk, or as many as its md array has members.
//
// All arms of a block get the same drives, down to the seeds of their models.
func (r *rig) plug(ctx context.Context, env Env, k *Kit, p *Plan, block int, cell record.Cell, dir string) ([]machine.Disk, error) {
	name := cell.Condition.Drive
	spec := p.Drives[name]
	r.seed = p.Seed + uint64(block)<<32
	if spec.OfHost() {
		disk, err := r.take(ctx, env, spec)
		return []machine.Disk{disk}, err
	}
	backings, err := r.backings(ctx, env, k, p, cell, spec.Members(), dir)
	if err != nil {
		return nil, err
	}
	var disks []machine.Disk
	for i, member := range spec.Members() {
		o := drive.Options{Seed: r.seed + uint64(i)<<48, Backing: backings[i], Early: k.Early[name]}
		if env.Tape != nil {
			o.Tape = func(q timing.Request) { env.Tape(cell, q) }
		}
		disk, err := r.serve(ctx, member, driveSerial(i), o)
		if err != nil {
			return nil, err
		}
		disks = append(disks, disk)
	}
	return disks, nil
}

// serve makes a drive that serves QEMU's connection, whoever starts QEMU.
func (r *rig) serve(ctx context.Context, spec drive.Spec, serial string, o drive.Options) (machine.Disk, error) {
	device, err := spec.Device()
	if err != nil {
		return machine.Disk{}, err
	}
	d, err := drive.New(spec, o)
	if err != nil {
		return machine.Disk{}, err
	}
	r.drives = append(r.drives, d)
	r.onClose(func() { d.Close() })
	s := &session{drive: d}
	s.ctx, s.end = context.WithCancel(ctx)
	r.onClose(s.close)
	return machine.Disk{
		Serve: s.serve, Bus: device.Bus, Rotation: device.Rotation, Serial: serial,
		WriteCache: device.WriteCache, QueueDepth: device.QueueDepth, Fails: device.Fails,
	}, nil
}

// session is QEMU's connection to a drive.
type session struct {
	drive *drive.Drive
	ctx   context.Context
	end   context.CancelFunc

	mu      sync.Mutex
	closed  bool
	serving sync.WaitGroup
}

func (s *session) serve(conn net.Conn) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		conn.Close()
		return
	}
	s.serving.Add(1)
	s.mu.Unlock()
	defer s.serving.Done()
	// How the session ended is not asked: a QEMU that dies hangs up, and errors
	// of the drive itself are in Drive.Err.
	nbd.Serve(s.ctx, conn, s.drive, s.drive.Export())
}

// close ends the session and waits for it.
func (s *session) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.serving.Wait()
}

// take takes a disk of the host. It is given back when the guest is gone; what
// the guest made on it is cleared then, or the next sample would refuse it.
func (r *rig) take(ctx context.Context, env Env, spec drive.Spec) (machine.Disk, error) {
	d, err := passthrough.Take(ctx, passthrough.ThisHost(), spec.HostDisk())
	if err != nil {
		return machine.Disk{}, err
	}
	r.onClose(func() {
		if err := d.Release(context.WithoutCancel(ctx)); err != nil {
			env.Log.Printf("give a disk back: %v", err) // the next sample refuses it
		}
	})
	return machine.Disk{
		Host: d.File, Bus: spec.Bus, Rotation: d.Rotation, Serial: driveSerial(0), WriteCache: d.WriteCache,
		QueueDepth: spec.QueueDepth, LogicalBlock: d.LogicalBlock, PhysicalBlock: d.PhysicalBlock,
	}, nil
}

// onClose adds what Close must do; the last added runs first.
func (r *rig) onClose(f func()) { r.closers = append(r.closers, f) }

// Close ends the guest and gives back all that bringUp took.
func (r *rig) Close() {
	for i := len(r.closers) - 1; i >= 0; i-- {
		r.closers[i]()
	}
	r.closers = nil
}

// explain finds out why the guest did not do what it was told. err is what our
// side of SSH saw; the drive and the machine may know better.
func (r *rig) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e := r.drives.Err(); e != nil {
		return e
	}
	select {
	case <-r.machine.Done():
	default:
		if !errors.Is(err, guest.ErrLost) {
			return err // the guest answers: err is all there is to know
		}
	}
	return r.machine.Diagnose(ctx, err)
}

// outcome is how the report tells of a failure of the kernel under test.
func (r *rig) outcome(err error) record.Outcome {
	o := record.Outcome{Kind: record.KernelFault, Reason: fault.Reason(err), Detail: err.Error()}
	if r.machine == nil {
		return o
	}
	select {
	case <-r.machine.Done():
		if e := r.machine.Ending(); e.Kind == fault.Kernel {
			o.Reason, o.Detail = string(e.Reason), e.Detail
			if e.Line > 0 {
				o.Log, o.Line = record.ConsoleLog, e.Line
			}
		}
	default:
	}
	return o
}

// driveStats puts the drive's own figures in the form of the record.
func driveStats(s drive.Stats) record.DriveStats {
	l := s.Lateness
	return record.DriveStats{
		Requests: s.Reads + s.Writes + s.Flushes + s.Trims + s.Zeroes,
		Reads:    s.Reads, Writes: s.Writes, Flushes: s.Flushes,
		ReadBytes: s.ReadBytes, WriteBytes: s.WriteBytes, MaxDepth: s.MaxDepth,
		LatenessP50: l.P50.Seconds(), LatenessP99: l.P99.Seconds(), LatenessMax: l.Max.Seconds(),
		ModelErrorRel: s.ModelError(),
	}
}
