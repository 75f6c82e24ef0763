package uml

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/timetravel"
	"spindle/pipeline/machine"
)

// Reasons of our own failures.
const (
	Killed   machine.Reason = "uml-killed"   // the guest's process was killed, or crashed
	Protocol machine.Reason = "uml-protocol" // guest and drives did not understand each other
	Signaled machine.Reason = "uml-signaled" // somebody sent a signal to a process of the guest
)

// disturbed is what the kernel says before it kills a program, init too, because
// its host process stopped for something that the kernel had not asked for
// (arch/um/os-Linux/skas/process.c). SIGSTOP and SIGCONT from outside do that.
const disturbed = "wait_stub_done : failed to wait for SIGTRAP"

// conclude tells how the guest ended, from what serve found, how the process
// ended, and the console. An error is ours.
func (r *run) conclude(ctx context.Context, served, exit error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, d := range r.disks {
		if err := d.content.Err(); err != nil {
			return err
		}
	}
	path := filepath.Join(r.cfg.Dir, machine.ConsoleLog)
	said, err := machine.Scan(path)
	if err != nil {
		return err
	}
	end := func(reason machine.Reason, line int, hint, format string, args ...any) {
		r.report.Ending = machine.End(reason, fmt.Sprintf(format, args...), line, hint, path, said)
	}
	then := func(format string, args ...any) string { return fmt.Sprintf(format, args...) }
	panicked, isPanic := said.First(machine.Panic)
	oops, isOops := said.First(machine.Oops)
	now := r.loop.now()
	var killed *proc.Error
	switch {
	case said.Fatal != "":
		end(machine.Fatal, said.FatalLine, "", "the guest's init gave up: %s", said.Fatal)
	case isPanic && onConsole(path, disturbed):
		end(Signaled, panicked.Line, "leave the guest's processes alone: kill -STOP and -CONT, or a debugger, end it", "a process of the guest was signaled from outside, and the kernel gave up: %s", panicked.Text)
	case isPanic:
		end(machine.Panic, panicked.Line, "", "%s", panicked.Text)
	case r.mailbox.err != nil:
		return fault.New(fault.Machinery, string(Protocol), r.mailbox.err)
	case errors.Is(served, errDone):
		// It is not waited for: a kernel that powers off shuts its drives down
		// first, of which nobody wants to hear.
		end(machine.Stopped, 0, "", "ended as told")
	case errors.Is(served, timetravel.ErrAsleep):
		r.hang(end, said, "every program in the guest sleeps for ever, from %v of its time on", now)
	case errors.Is(served, errLimit):
		r.hang(end, said, "the guest was not done after %v of its time", now)
	case errors.Is(served, errStall):
		// The kernel's own computing takes no virtual time, so that a loop that ends
		// when a tick lets another task run (reclaim, with all memory in use) does not.
		r.hang(end, said, "the guest's kernel computed for %v while its clock stood still at %v: it loops, or, as when memory runs short, waits in a loop for others that get to run in real time only", r.cfg.Stall, now)
	case served != nil:
		return fault.New(fault.Machinery, string(Protocol), served)
	case errors.As(exit, &killed) && (killed.Signal != 0 || !r.delivered):
		hint := ""
		if killed.Signal == syscall.SIGKILL {
			hint = "if nobody killed it, the host may be out of memory: see its dmesg"
		}
		if isOops {
			end(machine.Oops, oops.Line, "", "%s; then the guest crashed: %v", oops.Text, killed)
			break
		}
		end(Killed, 0, hint, "the guest's process ended: %v", killed)
	case r.delivered:
		end(machine.Stopped, 0, "", "ended as told")
	case isOops:
		end(machine.Oops, oops.Line, "", "%s", then("%s; then the guest powered itself off", oops.Text))
	default:
		end(machine.Exit, said.Lines, "", "the guest powered itself off though nobody had told it to")
	}
	return nil
}

// hang is the end of a guest that gets nowhere; what the console says of it
// comes along.
func (r *run) hang(end func(machine.Reason, int, string, string, ...any), said machine.Said, format string, args ...any) {
	detail := fmt.Sprintf(format, args...)
	if oops, ok := said.First(machine.Oops); ok {
		end(machine.Oops, oops.Line, "", "%s; then %s", oops.Text, detail)
		return
	}
	line := said.Lines
	if f, ok := said.First(machine.Hang); ok {
		detail += "; before that: " + f.Text
		line = f.Line
	}
	end(machine.Hang, line, "", "%s", detail)
}

// onConsole says whether words are anywhere on the console.
func onConsole(path, words string) bool {
	text, err := os.ReadFile(path)
	return err == nil && bytes.Contains(text, []byte(words))
}
