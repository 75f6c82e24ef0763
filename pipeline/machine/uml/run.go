package uml

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"spindle/internal/proc"
	"spindle/internal/vhost"
	"spindle/pipeline/drive"
	"spindle/pipeline/drive/sparse"
	"spindle/pipeline/machine"
)

// Log is the file in a Config's Dir that has the command line and how it ended.
const Log = "uml.log"

// Report is what came of a run. Times are virtual but for Wall.
type Report struct {
	Ending machine.Ending // Stopped: the guest gave its result and ended, as it should

	Boot     time.Duration // until the guest was set up
	Workload time.Duration // the timed part
	Virtual  time.Duration // all of it
	Wall     time.Duration

	Drive    drive.Stats // of the first drive, in the timed part
	Trace    string      // SHA-256 over all requests to the test drives and their times
	Requests int64       // that went into it
	Spins    int         // how often a program that computed was pushed on: not reproducible then
	Turns    int64       // how often guest and drives took turns
	Shared   bool        // the guest used shared memory
}

// hungUp is how long a guest may take to end, of the host's time, once it has hung
// up.
const hungUp = 10 * time.Second

// run is a guest under way.
type run struct {
	cfg     Config
	links   links
	disks   []*disk
	root    *plain
	mailbox *mailbox
	trace   *trace
	loop    *loop
	report  Report

	said      string // the guest's last word
	readyAt   time.Duration
	delivered bool
}

// Run boots a guest, lets it carry out the job in its initramfs, and returns
// when nothing of it is left. A guest that ends badly is told by the report's
// Ending; an error is ours, or the plan's.
func Run(ctx context.Context, cfg Config) (rep *Report, err error) {
	cfg.fill()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("run guest in virtual time: %w", err)
	}
	r := &run{cfg: cfg}
	defer func() {
		if cerr := r.close(); err == nil {
			err = cerr
		}
		if err != nil {
			rep, err = nil, fmt.Errorf("run guest in virtual time: %w", err)
		}
	}()
	if err := r.plug(); err != nil {
		return nil, err
	}
	if err := r.carryOut(ctx); err != nil {
		return nil, err
	}
	return &r.report, nil
}

// plug makes the guest's drives.
func (r *run) plug() (err error) {
	for _, d := range r.cfg.Drives {
		dev, err := d.Spec.Device()
		if err != nil {
			return err
		}
		if dev.Bus == drive.VirtioBlk && dev.QueueDepth > 0 {
			// virtio-blk has no way to tell it; it holds for all such drives.
			r.cfg.Append = append(r.cfg.Append[:len(r.cfg.Append):len(r.cfg.Append)], fmt.Sprint("virtio_blk.queue_depth=", dev.QueueDepth))
		}
	}
	r.links.dir = r.cfg.Temp
	if r.trace, err = newTrace(filepath.Join(r.cfg.Dir, RequestLog)); err != nil {
		return err
	}
	r.loop = &loop{links: &r.links, stall: r.cfg.Stall, limit: r.cfg.Limit, clock: r.cfg.Clock, messages: r.cfg.MessagesOnly,
		done: func() bool { return r.delivered || r.mailbox.err != nil }}
	now := r.loop.now
	if r.mailbox, err = newMailbox(now, r.word); err != nil {
		return err
	}
	add := func(d vhost.Disk, p *plain) error {
		b, err := vhost.Block(d)
		if err != nil {
			return err
		}
		return r.links.add(d.Serial, virtioBlock, b, p)
	}
	if r.cfg.Root != "" {
		info, err := os.Stat(r.cfg.Root)
		if err != nil {
			return err
		}
		size := (info.Size() + vhost.SectorSize - 1) / vhost.SectorSize * vhost.SectorSize
		r.root = &plain{now: now}
		if r.root.content, err = sparse.OpenReadOnly(r.cfg.Root); err != nil {
			return err
		}
		if err := add(vhost.Disk{Size: size, Serial: RootSerial, ReadOnly: true, Backend: r.root}, r.root); err != nil {
			return err
		}
	}
	err = add(vhost.Disk{Size: int64(mailboxSize), Serial: MailboxSerial, Backend: r.mailbox}, &r.mailbox.plain)
	if err != nil {
		return err
	}
	for i, d := range r.cfg.Drives {
		x, dev, kind, err := newDisk(d, now, r.trace)
		if err != nil {
			return fmt.Errorf("drive %s: %w", d.Serial, err)
		}
		r.disks = append(r.disks, x)
		if err := r.links.add(fmt.Sprint("d", i), kind, dev, x); err != nil {
			return err
		}
	}
	return nil
}

// close gives back what plug took.
func (r *run) close() error {
	var errs []error
	if r.loop != nil {
		errs = append(errs, r.loop.close())
	}
	errs = append(errs, r.links.close())
	for _, d := range r.disks {
		errs = append(errs, d.content.Close())
	}
	if r.root != nil && r.root.content != nil {
		errs = append(errs, r.root.content.Close())
	}
	if r.mailbox != nil {
		errs = append(errs, r.mailbox.content.Close())
	}
	return errors.Join(errs...)
}

// word is what the guest says over the mailbox: "ready" when everything is set
// up, which is answered when the drives take their time; "done" when the timed
// part is over; "result N" when its files lie in the mailbox.
func (r *run) word(w string) answer {
	word, rest, _ := strings.Cut(w, " ")
	before := r.said
	r.said = word
	switch {
	case word == "ready" && before == "":
		r.report.Boot = r.loop.now()
		return answer{r.cfg.Phase, func() error {
			r.readyAt = r.loop.now()
			return r.setTimed(true)
		}}
	case word == "done" && before == "ready":
		return answer{0, func() error {
			r.report.Workload = r.loop.now() - r.readyAt
			if len(r.disks) > 0 {
				r.report.Drive = r.disks[0].figures()
			}
			return r.setTimed(false)
		}}
	case word == "result" && before != word:
		return answer{0, func() error {
			err := r.mailbox.unpack(rest, r.cfg.Dir)
			r.delivered = err == nil
			r.report.Virtual = r.loop.now() // later the guest runs on, for as long as the host lets it
			return err
		}}
	}
	return answer{0, func() error { return fmt.Errorf("the guest said %q after %q", w, before) }}
}

func (r *run) setTimed(on bool) error {
	for _, d := range r.disks {
		if err := d.setTimed(on); err != nil {
			return err
		}
	}
	return nil
}

// carryOut starts the kernel and serves it to its end.
func (r *run) carryOut(ctx context.Context) error {
	console, err := os.OpenFile(filepath.Join(r.cfg.Dir, machine.ConsoleLog), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer console.Close()
	log, err := os.Create(filepath.Join(r.cfg.Dir, Log))
	if err != nil {
		return err
	}
	defer log.Close()
	if err := r.loop.open(); err != nil {
		return err
	}
	cmd := r.command(console)
	if _, err := fmt.Fprintf(log, "# Started as follows, in a directory with sockets of spindle:\n%v\n", cmd); err != nil {
		return err
	}
	began := time.Now()
	process, err := proc.Start(ctx, cmd)
	if err != nil {
		return err
	}
	r.loop.pid = process.Pid()
	go func() {
		<-process.Done()
		r.loop.wake()
	}()
	served := r.loop.serve()
	if served == nil {
		// It hung up, as it does when it powers off. It must not wait for a word of
		// ours then, since nobody serves it any more.
		select {
		case <-process.Done():
		case <-time.After(hungUp):
			served = errHungUp
		}
	}
	process.Kill()
	exit := process.Wait()
	r.report.Wall = time.Since(began)
	if !r.delivered {
		r.report.Virtual = r.loop.now()
	}
	r.report.Spins, r.report.Turns, r.report.Shared = r.loop.spins, r.loop.turns, r.loop.shared
	r.report.Requests = r.trace.count
	sum, err := r.trace.close()
	if err != nil {
		return err
	}
	r.report.Trace = sum
	if err := r.conclude(ctx, served, exit); err != nil {
		return err
	}
	e := r.report.Ending
	_, err = fmt.Fprintf(log, "# Ended: %s: %s\n# %v of virtual time in %v, %d requests, trace %s, %d turns, %d spins\n",
		e.Reason, e.Detail, r.report.Virtual, r.report.Wall.Round(time.Millisecond), r.report.Requests, sum, r.report.Turns, r.report.Spins)
	return err
}

// command is the guest's process: without randomised addresses, which would
// decide where the kernel finds memory, with nothing of our environment, and
// without an extension of the host's C library that a kernel cannot live with.
// Its console is a plain file, which never makes the guest wait.
func (r *run) command(console *os.File) proc.Cmd {
	return proc.Cmd{
		Path: "setarch", Args: append([]string{"-R", r.cfg.Kernel}, r.cfg.args(&r.links)...),
		Dir:    r.cfg.Temp,
		Env:    []string{"PATH=/usr/bin:/bin", "HOME=" + r.cfg.Temp, "GLIBC_TUNABLES=glibc.pthread.rseq=0"},
		Stdout: console, Stderr: console, Grace: -1,
	}
}
