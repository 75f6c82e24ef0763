package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"spindle/images"
	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/unit"
	"spindle/kernels"
	"spindle/pipeline/drive"
	"spindle/pipeline/machine"
	"spindle/pipeline/machine/uml"
	"spindle/reports/record"
	"spindle/workloads"
)

// virtualAccel is what a sample in virtual time says in place of an accelerator.
const virtualAccel machine.Accel = "virtual"

// Times that a plan's machine may have.
const (
	realTime    = "real"
	virtualTime = "virtual"
)

// Virtual says whether the plan's guests live in virtual time.
func (p *Plan) Virtual() bool { return p.Machine.Time == virtualTime }

// virtualClock is the time of day at which every guest in virtual time boots.
// File systems write it down, so the day on which a plan runs would show.
var virtualClock = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// virtual checks what a guest in virtual time cannot have.
func (c *checker) virtual() {
	n := c.root.get("machine", "time")
	c.word(n, "time", c.plan.Machine.Time, []string{realTime, virtualTime})
	kernels, drives := c.root.get("kernels"), c.root.get("drives")
	if kernels == nil {
		return
	}
	for _, f := range kernels.fields {
		um := c.plan.Kernels[f.key.text].Arch == "um"
		switch {
		case f.broken():
		case c.plan.Virtual() && !um:
			c.entry(f, "kernel %s is for a machine, and machine: {time: virtual} runs a kernel as a program: build it from source with arch: um, such as {deb: linux-source-6.12, arch: um}, or name one that was built so: {path: linux, arch: um}", f.key.text)
		case !c.plan.Virtual() && um:
			c.entry(f, "kernel %s is a program of the host (arch: um): it wants machine: {time: virtual}", f.key.text)
		}
	}
	if !c.plan.Virtual() {
		return
	}
	if n, ok := c.ok("machine", "cpus"); ok && c.plan.Machine.CPUs != 1 {
		c.value(n, "cpus %d: a guest in virtual time has one", c.plan.Machine.CPUs)
	}
	if n, ok := c.ok("machine", "accel"); ok && c.plan.Machine.Accel != defaultAccel {
		c.value(n, "accel %s: in virtual time a kernel runs as a program of the host, without an accelerator", c.plan.Machine.Accel)
	}
	if drives == nil {
		return
	}
	for _, f := range drives.fields {
		d := c.plan.Drives[f.key.text]
		bus := f.get("bus")
		switch {
		case f.broken():
		case d.OfHost():
			c.entry(f, "drive %s is a disk of the host, which has no virtual time", f.key.text)
		case len(d.Members()) > 1:
			c.entry(f, "drive %s: a guest in virtual time has one drive, and no md array", f.key.text)
		case slices.ContainsFunc(d.Faults, fails):
			c.entry(f, "drive %s fails requests: in virtual time drives have spikes and stalls only", f.key.text)
		case bus != nil && d.Bus != drive.VirtioSCSI && d.Bus != drive.VirtioBlk:
			c.value(bus, "bus %s: virtual time has virtio-scsi, whose disks the sd driver drives, and virtio-blk", d.Bus)
		}
	}
}

// fails says whether a fault makes the guest see errors.
func fails(f drive.Fault) bool { return f.Spike == nil && f.Stall == nil }

// virtualDrives gives the drives of a plan in virtual time the bus that stands
// for all others there, where it names none.
func (p *Plan) virtualDrives() {
	if !p.Virtual() {
		return
	}
	for name, d := range p.Drives {
		if d.Bus == "" && !d.OfHost() {
			d.Bus = drive.VirtioSCSI
			p.Drives[name] = d
		}
	}
}

// virtualSeeds are what varies between the blocks of a plan: without them all
// would be one. All arms of a block have the same.
type virtualSeeds struct {
	entropy uint64
	drive   uint64
	phase   time.Duration // the timed part begins so much later: other flushes are near
	turn    time.Duration // the drive's platters and caches are so old when it begins
	place   float64       // where on the drive the guest's disk begins: 0 first, to 1 last
}

func seedsOf(seed uint64) virtualSeeds {
	r := rand.New(rand.NewPCG(seed, 0x7669727475616c))
	return virtualSeeds{
		entropy: r.Uint64(), drive: seed,
		phase: time.Duration(r.Int64N(int64(flusherPeriod))),
		turn:  time.Duration(r.Int64N(int64(time.Second))),
		place: r.Float64(),
	}
}

// The guest's disk begins somewhere in the first hundredth of the drive, at a
// whole MiB as partitions do: far enough for other tracks and angles, and not so
// far that the media would be slower by more than some thousandths.
const (
	placeShare = 100
	placeUnit  = unit.MiB
)

// placeOf is where on a drive the guest's disk begins.
func (s virtualSeeds) placeOf(d drive.Device) unit.Size {
	room := min(d.Capacity/placeShare, d.Capacity-d.Size)
	return unit.Size(s.place*float64(room)) / placeUnit * placeUnit
}

// flusherPeriod is how often the kernel looks for old dirty pages
// (vm.dirty_writeback_centisecs).
const flusherPeriod = 5 * time.Second

// carryOutVirtual is carryOut for a plan in virtual time.
func carryOutVirtual(ctx context.Context, env Env, k *Kit, p *Plan, block int, cell record.Cell, dir string) (record.Sample, error) {
	s, err := oneVirtual(ctx, env, k, p, block, cell, dir)
	if err != nil || !env.Twice {
		return s, err
	}
	again, remove, err := proc.TempDir(ctx, env.Temp, "again")
	if err != nil {
		return s, err
	}
	defer remove()
	t, err := oneVirtual(ctx, env, k, p, block, cell, again)
	if err != nil {
		return s, fmt.Errorf("second run, to compare: %w", err)
	}
	if err := sameAgain(s, t); err != nil {
		return s, err
	}
	s.Virtual.SameAgain = true
	return s, nil
}

// sameAgain holds two runs of one sample against each other.
func sameAgain(s, t record.Sample) error {
	var what string
	switch {
	case s.Outcome.Kind != t.Outcome.Kind || s.Outcome.Detail != t.Outcome.Detail:
		what = fmt.Sprintf("outcome %s %q, then %s %q", s.Outcome.Kind, s.Outcome.Detail, t.Outcome.Kind, t.Outcome.Detail)
	case s.Virtual.Trace != t.Virtual.Trace:
		what = fmt.Sprintf("requests of trace %.12s (%d), then %.12s (%d)", s.Virtual.Trace, s.Virtual.Requests, t.Virtual.Trace, t.Virtual.Requests)
	case !slices.Equal(s.Metrics, t.Metrics):
		what = fmt.Sprintf("metrics %v, then %v", s.Metrics, t.Metrics)
	default:
		return nil
	}
	e := fault.New(fault.Machinery, "not-deterministic", fmt.Errorf("a second run of the same sample came out otherwise: %s", what))
	e.Hint = "compare the two logs of requests: spindle leaves the first under attempts/"
	if s.Virtual.Spins+t.Virtual.Spins > 0 {
		e.Hint = "a program in the guest computes without system calls: its clock was pushed on, which depends on the host"
	}
	return e
}

// oneVirtual makes a sample in virtual time. Its seconds are the guest's, but
// for those of all of it.
func oneVirtual(ctx context.Context, env Env, k *Kit, p *Plan, block int, cell record.Cell, dir string) (record.Sample, error) {
	s := record.Sample{
		Block: block, Cell: cell, Started: env.Now().UTC(), Accel: string(virtualAccel),
		Outcome: record.Outcome{Kind: record.OK},
	}
	temp, remove, err := proc.TempDir(ctx, env.Temp, "sample")
	if err != nil {
		return s, err
	}
	defer remove()
	arm := p.Arm(cell.Arm)
	seed := p.Seed + uint64(block)<<32
	job, err := jobOf(k, p, cell)
	if err != nil {
		return s, err
	}
	job.Seed = seed
	if err := writeVirtualInitrd(filepath.Join(temp, virtualInitrd), k.Initrd[arm.Kernel], job); err != nil {
		return s, err
	}
	seeds := seedsOf(seed)
	spec := p.Drives[cell.Condition.Drive]
	device, err := spec.Device()
	if err != nil {
		return s, err
	}
	limit := p.SampleLimit(cell.Condition)
	cfg := uml.Config{
		Kernel: k.Kernels[arm.Kernel].Boot, Initrd: virtualInitrd, Root: k.Image.Root,
		Memory: p.memory(arm), Seed: seeds.entropy, Cost: uml.DefaultCost, Clock: virtualClock,
		Drives: []uml.Disk{{
			Spec: spec, Seed: seeds.drive, Serial: driveSerial(0), Turn: seeds.turn, Place: seeds.placeOf(device),
			Backing: filepath.Join(temp, "drive.img"),
		}},
		Phase: seeds.phase, Dir: dir, Temp: temp, Limit: 3*limit + 10*time.Minute,
	}
	if arm.Cmdline != "" {
		cfg.Append = []string{arm.Cmdline}
	}
	// Virtual time may be slower than the host's, by little.
	wall := 4*limit + 10*time.Minute
	ctx, cancel := context.WithTimeoutCause(ctx, wall, fmt.Errorf("sample not done after %v", wall))
	defer cancel()
	noise := startNoise()
	rep, err := uml.Run(ctx, cfg)
	s.Host = noise.stop()
	if err != nil {
		return s, err
	}
	s.BootSeconds, s.WorkloadSeconds, s.TotalSeconds = rep.Boot.Seconds(), rep.Workload.Seconds(), rep.Wall.Seconds()
	s.Drive = driveStats(rep.Drive)
	s.Virtual = &record.Virtual{
		Seconds: rep.Virtual.Seconds(), WallSeconds: rep.Wall.Seconds(), Requests: rep.Requests,
		Trace: rep.Trace, Turns: rep.Turns, Spins: rep.Spins,
	}
	if err := rep.Ending.Err(); err != nil {
		if fault.Of(err) != fault.Kernel {
			return s, err
		}
		s.Outcome = record.Outcome{Kind: record.KernelFault, Reason: string(rep.Ending.Reason), Detail: rep.Ending.Detail}
		if rep.Ending.Line > 0 {
			s.Outcome.Log, s.Outcome.Line = record.ConsoleLog, rep.Ending.Line
		}
		return s, nil
	}
	if err := readResult(filepath.Join(dir, workloads.ResultFile), &s); err != nil {
		return s, err
	}
	if rep.Spins > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("a program computed without a system call for so long that its clock was pushed on, %d times: this sample does not come out the same again", rep.Spins))
	}
	trouble(&s, rep.Ending.Findings)
	return s, nil
}

const virtualInitrd = "initrd"

// writeVirtualInitrd does for a guest without SSH what writeInitrd does for
// others: behind the kernel's initramfs lies what its init needs to know, and
// the job.
func writeVirtualInitrd(path, initramfs string, job workloads.Job) error {
	text, err := json.Marshal(job)
	if err != nil {
		return err
	}
	boot, err := json.Marshal(workloads.Boot{
		Modules: kernels.BootModules(), Root: uml.RootSerial, Hostname: "spindle", Mailbox: uml.MailboxSerial,
	})
	if err != nil {
		return err
	}
	base, err := os.ReadFile(initramfs)
	if err != nil {
		return fmt.Errorf("write initrd: %w", err)
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write initrd: %w", err)
	}
	if _, err = out.Write(base); err == nil {
		own := func(name string) string { return workloads.InitDir[1:] + "/" + name }
		err = images.AppendCpio(out, []images.File{
			{Name: own(workloads.BootFile), Data: boot},
			{Name: own(workloads.JobFile), Data: text},
		})
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write initrd: %w", err)
	}
	return nil
}
