package workloads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"spindle/internal/fault"
	"spindle/internal/proc"
)

// dieFor is how long a killed process may take to go. One that waits for I/O in
// the kernel does not go before that ends, or ever.
const dieFor = 10 * time.Second

// supervise runs a program for at most the job's limit. At the limit it notes
// where the program is in the kernel, lets the kernel log all blocked tasks, and
// kills it: an outcome of the kernel. A program that does not die then is left
// behind, as the guest will be.
func (r *run) supervise(ctx context.Context, c proc.Cmd) error {
	c.Unguarded = true // the guest ends with its job
	p, err := proc.Start(ctx, c)
	if err != nil {
		return err
	}
	var limit <-chan time.Time
	if r.job.Limit > 0 {
		t := time.NewTimer(r.job.Limit.Std())
		defer t.Stop()
		limit = t.C
	}
	select {
	case <-p.Done():
		return p.Wait()
	case <-r.stop:
		return r.askedToEnd(p, filepath.Base(c.Path))
	case <-ctx.Done():
		if !gone(p) {
			return fmt.Errorf("%s: %w; it does not die", c.Path, context.Cause(ctx))
		}
		return p.Wait()
	case <-limit:
	}
	where := r.sys.inKernel(p.Pid())
	r.sys.logBlocked()
	p.Kill()
	err = fmt.Errorf("%s ran longer than its limit of %s and was killed", filepath.Base(c.Path), r.job.Limit)
	if !gone(p) {
		err = fmt.Errorf("%s ran longer than its limit of %s and cannot be killed", filepath.Base(c.Path), r.job.Limit)
	}
	if where != "" {
		err = errors.New(err.Error() + "; it was " + where)
	}
	r.evidence(DmesgFile)
	return fault.New(fault.Kernel, "limit", err)
}

// askedToEnd waits for a program beside the workload that is to end. How it ends
// then is not asked: dd dies of the signal, having reported.
func (r *run) askedToEnd(p *proc.Process, name string) error {
	p.Signal(askToEnd)
	select {
	case <-p.Done():
		return nil
	case <-time.After(endFor):
	}
	where := r.sys.inKernel(p.Pid())
	r.sys.logBlocked()
	p.Kill()
	gone(p)
	r.evidence(DmesgFile)
	return fault.New(fault.Kernel, "limit", fmt.Errorf("%s was asked to end and had not after %s; it was %s", name, endFor, cmp.Or(where, "nowhere to be seen")))
}

// within does something in this process for at most the job's limit. What hangs
// in the kernel is left behind.
func (r *run) within(what string, f func() error) error {
	if r.job.Limit <= 0 {
		return f()
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	t := time.NewTimer(r.job.Limit.Std())
	defer t.Stop()
	select {
	case err := <-done:
		return err
	case <-t.C:
	}
	r.sys.logBlocked()
	r.evidence(DmesgFile)
	return fault.New(fault.Kernel, "limit", fmt.Errorf("%s took longer than the limit of %s", what, r.job.Limit))
}

func gone(p *proc.Process) bool {
	select {
	case <-p.Done():
		return true
	case <-time.After(dieFor):
		return false
	}
}

// inKernel says what a process is doing in the kernel: "in state D in
// balance_dirty_pages". Of its threads it takes the first that is not merely
// asleep. It is "" if nothing can be told.
func (s System) inKernel(pid int) string {
	tasks, _ := filepath.Glob(s.proc(fmt.Sprintf("%d/task/*", pid)))
	var asleep string
	for _, t := range tasks {
		stat, err := os.ReadFile(filepath.Join(t, "stat"))
		if err != nil {
			continue
		}
		// The name in field 2 may hold anything; the state follows its bracket.
		_, rest, ok := cutLast(string(stat), ") ")
		if !ok || rest == "" {
			continue
		}
		where := "in state " + rest[:1]
		if wchan, err := os.ReadFile(filepath.Join(t, "wchan")); err == nil && len(wchan) > 0 && string(wchan) != "0" {
			where += " in " + strings.TrimSpace(string(wchan))
		}
		if rest[0] != 'S' {
			return where
		}
		if asleep == "" {
			asleep = where
		}
	}
	return asleep
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// logBlocked lets the kernel write the stacks of all tasks in state D to its
// log (Documentation/admin-guide/sysrq.rst). Not every kernel can.
func (s System) logBlocked() {
	if f, err := os.OpenFile(s.proc("sysrq-trigger"), os.O_WRONLY, 0); err == nil {
		f.WriteString("w")
		f.Close()
	}
}
