package workloads

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/reports/record"
	"spindle/workloads/kmod"
	"spindle/workloads/sample"
)

// Handshake is how a job keeps step with the host, which has the drive answer
// at once during the set-up and as slowly as its model says during the workload.
type Handshake struct {
	Ready func() error // everything is set up; returns when the workload may start
	Done  func() error // the timed part is over
}

// TimedPhase is the name of the phase between the host's go and our done.
const TimedPhase = "workload"

// Do carries a job out in the guest that this process runs in.
func Do(ctx context.Context, job Job, host Handshake) Result {
	self, err := os.Executable()
	if err != nil {
		return Result{Outcome: outcome(err)}
	}
	return Guest(self).Do(ctx, job, host)
}

// Do carries a job out: modules, drive, settings, mkfs, mount, sync, then the
// handshake, then the workload with the samplers beside it. It always gives a
// result; the raw files are in job.Dir.
func (s System) Do(ctx context.Context, job Job, host Handshake) Result {
	res := Result{Outcome: record.Outcome{Kind: record.OK}}
	r := &run{sys: s, job: job, dir: s.Mount, result: &res}
	err := r.carryOut(ctx, host)
	if err != nil {
		log := res.Outcome.Log
		res.Outcome = outcome(err)
		res.Outcome.Log = log
	}
	// The log is wanted most of all when something failed.
	lerr := r.phase("collect", r.keepLog)
	if lerr != nil && err == nil {
		res.Outcome = outcome(lerr)
	}
	return res
}

func (r *run) carryOut(ctx context.Context, host Handshake) error {
	if err := r.job.Validate(); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	if err := r.assign(); err != nil {
		return err
	}
	if err := os.MkdirAll(r.job.Dir, 0o700); err != nil {
		return err
	}
	knobs, err := r.setUp(ctx)
	if err != nil {
		return err
	}
	if err := r.phase("wait", host.Ready); err != nil {
		return fmt.Errorf("wait for the host's go: %w", err)
	}
	err = r.phase(TimedPhase, func() error { return r.timed(ctx) })
	if derr := host.Done(); err == nil && derr != nil {
		err = fmt.Errorf("tell the host that the workload is done: %w", derr)
	}
	err = errors.Join(err, r.keepBeside())
	if err == nil && r.job.Unmount && r.mounted {
		_, err = r.setup(ctx, "unmount", command{name: "umount", pack: "mount"}, []string{r.dir})
		r.mounted = err != nil
	}
	for _, c := range changes(r.result.Settings, r.settings(knobs)) {
		r.warn("%s", c)
	}
	return err
}

// setUp makes everything ready for the workload.
func (r *run) setUp(ctx context.Context) ([]knob, error) {
	var knobs []knob
	steps := []struct {
		name string
		do   func() error
	}{
		{"modules", r.loadModules},
		{"drive", func() error { return r.findDrive(ctx) }},
		{"settings", func() error {
			knobs = r.knobs()
			err := apply(knobs)
			if err == nil {
				var ks []knob
				ks, err = r.enterGroup()
				knobs = append(knobs, ks...)
			}
			r.result.Settings = r.settings(knobs)
			return err
		}},
		{"programs", r.programs},
		{"mkfs", func() error { return r.mkfs(ctx) }},
		{"mount", func() error {
			if err := r.mount(ctx); err != nil {
				return err
			}
			ks := r.bdiKnobs()
			knobs = append(knobs, ks...)
			return apply(ks)
		}},
		{"prepare", func() error { return r.within("preparing", func() error { return r.prepareAll(ctx) }) }},
		{"sync", func() error { return r.within("sync", func() error { r.sys.Sync(); return nil }) }},
		// They do not touch the drive, which comes to rest meanwhile.
		{"versions", func() error { return r.versions(ctx) }},
		{"settle", func() error { return r.settle(ctx) }},
	}
	for _, s := range steps {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, context.Cause(ctx))
		}
		if err := r.phase(s.name, s.do); err != nil {
			return nil, err
		}
	}
	// Once more: the mount is there now, and may have changed something.
	r.result.Settings = r.settings(knobs)
	return knobs, nil
}

func (r *run) loadModules() error {
	if len(r.job.Modules) == 0 {
		return nil
	}
	list, err := kmod.Read(filepath.Join(r.sys.Modules, ModuleList))
	if err != nil {
		return err
	}
	_, err = kmod.Loader{List: list, Dir: filepath.Join(r.sys.Modules, ModuleDir)}.Load(r.job.Modules...)
	if err != nil {
		return fault.New(fault.Kernel, "module", err)
	}
	return nil
}

// programs looks whether the image has what the job runs, before it is needed.
func (r *run) programs() error {
	for _, c := range r.job.commands() {
		if _, err := proc.LookPath(c.name); err != nil {
			return missing(c)
		}
	}
	return nil
}

// commands gives the programs of the job.
func (j Job) commands() []command {
	cs := j.Workload.commands()
	if j.MD != nil {
		cs = append(cs, mdadm)
	}
	if f, ok := findFilesystem(j.Filesystem); ok {
		cs = append(cs, command{f.program, f.version, f.pack})
	}
	return cs
}

// UsedPackages gives those of j.Packages that the job uses.
func (j Job) UsedPackages() map[string]string {
	used := map[string]string{}
	for _, c := range j.commands() {
		if v := j.Packages[c.pack]; v != "" {
			used[c.pack] = v
		}
	}
	return used
}

// versions tells what the programs of the job are: by their packages where the
// host knows those, since starting each only to ask it takes an emulated guest
// a good part of a second, and else by asking.
func (r *run) versions(ctx context.Context) (err error) {
	if r.rest, err = r.look(); err != nil {
		return err
	}
	r.result.Programs = make(map[string]string)
	for _, c := range r.job.commands() {
		if v := r.job.Packages[c.pack]; v != "" {
			r.result.Programs[c.name] = c.pack + " " + v
			continue
		}
		// Some print it on standard error; some exit with 1.
		out, _ := proc.Run(ctx, proc.Cmd{Path: c.name, Args: c.version, Unguarded: true})
		text := strings.TrimSpace(string(out.Stdout))
		if text == "" {
			text = strings.TrimSpace(string(out.Stderr))
		}
		first, _, _ := strings.Cut(text, "\n")
		r.result.Programs[c.name] = strings.TrimSpace(first)
	}
	return nil
}

func (r *run) mkfs(ctx context.Context) error {
	f, ok := findFilesystem(r.job.Filesystem)
	if !ok {
		return nil
	}
	if r.job.Made != "" {
		r.result.Mkfs = r.job.Made
		return nil
	}
	line, err := r.setup(ctx, "mkfs", command{name: f.program, pack: f.pack}, f.mkfs(r.drive.Node, r.job.MkfsOptions))
	r.result.Mkfs = line
	return err
}

func (r *run) mount(ctx context.Context) error {
	if r.target != "" {
		r.dir = r.job.Dir // fio wants a directory to be in
		return r.fitsDrive()
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	args := mountArgs(r.job.Filesystem, r.drive.Node, r.dir, r.job.MountOptions)
	log, _ := r.sys.Kmsg()
	line, err := r.setup(ctx, "mount", command{name: "mount", pack: "mount"}, args)
	r.result.Mount = line
	var f *fault.Error
	if errors.As(err, &f) && f.Reason == "mount" {
		// mount(8) knows a number only.
		if said := r.kernelSaid(log); said != "" {
			f.Err = fmt.Errorf("%w; the kernel said: %s", f.Err, said)
		}
	}
	if err != nil {
		return err
	}
	r.mounted = true
	var st unix.Statfs_t
	if err := unix.Statfs(r.dir, &st); err != nil {
		return fmt.Errorf("statfs %s: %w", r.dir, err)
	}
	return r.fits(int64(st.Bavail) * st.Bsize)
}

// fitsDrive holds what the workload fills against the size of the drive.
func (r *run) fitsDrive() error {
	text, err := r.drive.Read("size")
	if err != nil {
		return err
	}
	sectors, err := strconv.ParseInt(text, 10, 64) // of 512 bytes, whatever the drive's are
	if err != nil || sectors < 0 || sectors > math.MaxInt64/512 {
		return fmt.Errorf("read size of %s: %q", r.drive.Name, text)
	}
	return r.fits(512 * sectors)
}

// fits holds what the workload fills against what is free, so that a plan's
// mistake does not become a kernel's ENOSPC.
func (r *run) fits(free int64) error {
	need := int64(r.job.Workload.Space())
	if need <= free {
		return nil
	}
	return &fault.Error{
		Kind: fault.Machinery, Reason: "space",
		Err:  fmt.Errorf("%s fills %d MiB and the drive has %d MiB free", r.job.Workload.Title(), need>>20, free>>20),
		Hint: "give the plan's drive a larger size, or the workload a smaller one",
	}
}

// rest is what a drive's counters said, and since when they say it.
type rest struct {
	stat  string
	since time.Time
}

func (r *run) look() (rest, error) {
	stat, err := r.drive.Read("stat")
	return rest{stat, time.Now()}, err
}

// settle waits until the drive has done nothing for a while: what mkfs and
// mount left behind must not be measured. It does not wait for ever, since some
// file systems never rest; the reader is told then.
func (r *run) settle(ctx context.Context) error {
	const looks = 10 // in the time that it must rest
	deadline := time.Now().Add(settleFor * r.sys.Quiet)
	for {
		now, err := r.look()
		if err != nil {
			return err
		}
		if now.stat != r.rest.stat {
			r.rest = now
		}
		switch {
		case now.since.Sub(r.rest.since) >= r.sys.Quiet:
			return nil
		case now.since.After(deadline):
			r.warn("the drive was not at rest %s after the mount and sync: something else than the workload used it", settleFor*r.sys.Quiet)
			return nil
		}
		select {
		case <-time.After(r.sys.Quiet / looks):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// settleFor is how many times as long as it must rest a drive is waited for.
const settleFor = 30

// timed runs the workload with the samplers beside it.
func (r *run) timed(ctx context.Context) error {
	sampler, err := sample.Start(sample.Config{
		Proc: r.sys.path("proc"), Debug: r.sys.path("sys/kernel/debug"),
		Drive: r.drive.Name, BDI: r.bdi(), Dir: r.job.Dir, Every: r.job.SampleEvery.Std(),
	})
	if err != nil {
		return err
	}
	if err := r.startTrace(); err != nil {
		return errors.Join(err, stopOnly(sampler))
	}
	watcher := sample.Watch(r.drive.Path("inflight"), flightEvery)
	metrics, err := r.measureAll(ctx)
	r.flights = watcher.Stop()
	busy, serr := sampler.Stop()
	serr = errors.Join(serr, r.endTrace())
	if err != nil {
		return err
	}
	if serr != nil {
		return serr
	}
	r.result.Metrics, r.result.CPUBusy = metrics, busy
	return nil
}

// flightEvery is how often it is looked what the drive has in flight: twice in
// what most workloads call a stall.
const flightEvery = 50 * time.Millisecond

func stopOnly(s *sample.Sampler) error {
	_, err := s.Stop()
	return err
}

// bdi gives the backing device that the file system's pages are written to, by
// its name in debugfs: the drive's numbers, but btrfs has one of its own.
func (r *run) bdi() string {
	if links, _ := filepath.Glob(r.sys.path("sys/fs/btrfs/*/bdi")); r.job.Filesystem == "btrfs" && len(links) == 1 {
		if to, err := os.Readlink(links[0]); err == nil {
			return filepath.Base(to)
		}
	}
	dev, _ := r.drive.Read("dev")
	return dev
}
