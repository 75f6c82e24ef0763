package machine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"spindle/internal/qmp"
)

const (
	settle      = 2 * time.Second // a dying guest loses SSH a moment before its end shows
	answerLimit = 3 * time.Second // for one QMP command
	sysrqLimit  = 5 * time.Second // for all that a sysrq prints, at most
	sysrqQuiet  = 700 * time.Millisecond
)

// Diagnose finds out why the guest no longer answers over SSH, and ends the
// machine: without SSH it is of no use. cause is what the SSH side saw. The
// result is a *fault.Error, as from [Ending.Err], or cause itself if the
// machine was stopped meanwhile.
//
// It tells apart a guest that ended, an SSH server that ended in a living
// guest, a paused guest, a failed drive, a QEMU that answers nothing, and a
// guest that QEMU runs but that does not answer. Before it judges the last, it
// has the kernel print its blocked tasks and where its CPUs are: the evidence
// is in console.log.
func (m *Machine) Diagnose(ctx context.Context, cause error) error {
	select {
	case <-m.done:
	case <-m.judged:
	case <-ctx.Done():
	case <-time.After(settle):
		if !m.stopping() {
			m.judgeBy(ctx, verdict{reason: Hang, detail: "the guest no longer answers over SSH"})
		}
	}
	select {
	case <-m.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := m.ending.Err(); err != nil {
		return err
	}
	return cause
}

// judgeBy ends the machine with what an examination finds, unless ctx ended
// under it: then the answers that did not come prove nothing.
func (m *Machine) judgeBy(ctx context.Context, otherwise verdict) {
	if v := m.examine(ctx, otherwise); ctx.Err() == nil {
		m.judge(v)
	}
}

func (m *Machine) stopping() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.verdict != nil && m.verdict.reason == Stopped
}

// bootFailure is the verdict on a guest that got to its boot limit, unless
// there is a better one.
func (m *Machine) bootFailure() verdict {
	v := verdict{reason: Hang, detail: fmt.Sprintf("the guest was not ready after %v", time.Since(m.started).Round(time.Second))}
	if used, waited := m.cpuTime(context.Background()); tooBusy(used, waited, m.cfg.BootLimit) {
		v.reason = Starved
		v.detail += fmt.Sprintf("; the host let its CPUs run for %v and wait for %v", used.Round(time.Second), waited.Round(time.Second))
		v.hint = "run fewer guests at a time, or give the plan's machine a longer boot-limit"
	}
	return v
}

// examine looks why a machine that should answer does not; otherwise is the
// verdict if QEMU runs it and nothing else explains it.
func (m *Machine) examine(ctx context.Context, otherwise verdict) verdict {
	if m.lostSSH() {
		return m.sshLost()
	}
	status, err := m.status(ctx)
	switch {
	case errors.Is(err, qmp.ErrClosed):
		// QEMU is going. Its end says more.
		select {
		case <-m.process.Done():
		case <-time.After(settle):
		}
		return verdict{reason: Killed, detail: "QEMU ended"}
	case err != nil:
		return verdict{reason: Unresponding, detail: fmt.Sprintf("QEMU itself does not answer: %v", err),
			hint: "see whether it is stopped or waits for a disk: grep State /proc/PID/status"}
	case status == "io-error":
		return verdict{reason: DriveError, detail: "QEMU stopped the guest for an I/O error on the host's side of a disk"}
	case status == "guest-panicked":
		return verdict{reason: Panic, detail: "the kernel told pvpanic that it panicked"}
	case status != "running":
		return verdict{reason: Paused, detail: "QEMU does not run the guest: its state is " + status,
			hint: "somebody may have paused it over QMP"}
	}
	if otherwise.reason != Hang {
		return otherwise
	}
	lines, grew, _ := m.console.state()
	console := "the console still talks"
	if silent := time.Since(grew); silent > stillTalking {
		console = fmt.Sprintf("the console has been silent for %v", silent.Round(time.Second))
	}
	busy, starved := m.busy(ctx)
	replied := m.ask(ctx, "wl")
	v := otherwise
	if starved {
		v.reason, v.hint = Starved, "run fewer guests at a time"
	}
	v.line = lines // the dump starts behind it
	parts := []string{v.detail, "QEMU runs it", console}
	if busy != "" {
		parts = append(parts, busy)
	}
	if replied {
		parts = append(parts, "the kernel still answers SysRq: its blocked tasks follow on the console")
	} else {
		parts = append(parts, "the kernel does not answer SysRq")
	}
	v.detail = strings.Join(parts, "; ")
	m.mu.Lock()
	if hang, ok := m.first(Hang); ok {
		v.detail += "; before that: " + hang.Text
		v.line = hang.Line
	}
	m.mu.Unlock()
	return v
}

func (m *Machine) lostSSH() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sshd != nil || m.portShut
}

// sshLost is the verdict on a guest whose SSH server went away.
func (m *Machine) sshLost() verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := verdict{reason: SSHLost, detail: "the guest lives, but it closed its SSH port"}
	if m.sshd != nil {
		v.detail = "the guest lives, but its SSH server ended: " + strings.TrimPrefix(m.sshd.Text, guestPrefix)
		v.line = m.sshd.Line
	}
	if oom, ok := m.first(OutOfMemory); ok {
		v.detail += "; before that: " + oom.Text
		v.line = oom.Line
		v.hint = "give the plan's machine more memory"
	}
	return v
}

func (m *Machine) status(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	var s struct{ Status string }
	err := m.monitor.Execute(ctx, "query-status", nil, &s)
	return s.Status, err
}

// ask sends the kernel SysRq keys over the serial console (a break, then the
// key; Documentation/admin-guide/sysrq.rst) and waits until what it prints has
// come. It reports whether the kernel answered. It does so once its init has
// the console open.
func (m *Machine) ask(ctx context.Context, keys string) (replied bool) {
	ctx, cancel := context.WithTimeout(ctx, sysrqLimit)
	defer cancel()
	answers := func() int {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.sysrqs
	}
	before := answers()
	for _, key := range []byte(keys) {
		if m.monitor.Execute(ctx, "chardev-send-break", map[string]string{"id": "console"}, nil) != nil {
			break
		}
		m.serial.SetWriteDeadline(time.Now().Add(answerLimit))
		if _, err := m.serial.Write([]byte{key}); err != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(sysrqQuiet):
		}
	}
	for {
		_, grew, _ := m.console.state()
		if quiet := time.Since(grew); quiet >= sysrqQuiet || ctx.Err() != nil {
			return answers() > before
		}
		select {
		case <-ctx.Done():
		case <-time.After(sysrqQuiet / 4):
		}
	}
}
