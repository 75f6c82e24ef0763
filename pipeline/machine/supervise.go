package machine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"spindle/internal/proc"
	"spindle/internal/qmp"

	"golang.org/x/sys/unix"
)

const (
	// lastWords is how long a guest that panicked or gave up may take to print
	// the rest and go. It takes 0.15 s.
	lastWords = 5 * time.Second
	// stillTalking is how recent the console's last output must be at the boot
	// limit for the guest to get more time.
	stillTalking = 5 * time.Second
	// mostFindings of a kind are kept: a storm says no more than its start.
	mostFindings = 200
	// holdOpen bounds the wait for the end of what a dead QEMU had open. Only a
	// child of QEMU's could keep it open.
	holdOpen = 2 * time.Second
)

// verdict is why a machine ends.
type verdict struct {
	reason Reason
	detail string
	line   int
	hint   string
	cause  error
}

// weight orders verdicts: a lighter one gives way to a heavier one, and of two
// equal ones the first holds. That we stop a machine does not hide how it was;
// an init that gives up and exits makes the kernel panic, and is the cause; so is
// an emulator that broke.
func (v *verdict) weight() int {
	switch {
	case v == nil:
		return 0
	case v.reason == Stopped:
		return 1
	case v.reason == Panic:
		return 3
	case v.reason == Fatal:
		return 4
	case v.reason == Emulator:
		return 5
	}
	return 2
}

// note keeps a verdict without acting on it.
func (m *Machine) note(v verdict) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.verdict
	if v.weight() > old.weight() {
		m.verdict = &v
	} else if old.reason == v.reason && old.line == 0 && v.line != 0 {
		m.verdict = &v // the console confirms what an event told, and says more
	}
}

// judge keeps a verdict, and the machine ends.
func (m *Machine) judge(v verdict) {
	m.note(v)
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.judged:
	default:
		close(m.judged)
	}
}

// see looks at one line of the console.
func (m *Machine) see(n int, line string) {
	text := unstamped(line)
	switch {
	case strings.HasPrefix(text, saysInit):
		m.once(m.init)
	case strings.HasPrefix(text, saysReady):
		m.once(m.ready)
	case strings.HasPrefix(text, saysFatal):
		m.judge(verdict{reason: Fatal, line: n,
			detail: "the guest's init gave up: " + strings.TrimPrefix(text, saysFatal)})
	case strings.HasPrefix(strings.ToLower(text), "sysrq"):
		m.mu.Lock()
		m.sysrqs++
		m.mu.Unlock()
	case strings.HasPrefix(text, saysSSHD):
		m.mu.Lock()
		m.sshd = &Finding{Reason: SSHLost, Line: n, Text: text}
		m.mu.Unlock()
		m.channel.Close() // or its user would wait for ever
		if !m.isReady() {
			m.judge(m.sshLost())
		}
	}
	if m.cfg.Accel == TCG && impossibleFlags(text) {
		// The kernel has more to print, and what it does then counts for nothing.
		m.note(verdict{reason: Emulator, line: n, hint: emulatorHint,
			detail: "the emulated CPU had flags that no CPU has: " + clip(text)})
	}
	reason, ok := find(text)
	if !ok {
		return
	}
	m.mu.Lock()
	if m.found[reason]++; m.found[reason] <= mostFindings {
		m.findings = append(m.findings, Finding{reason, n, clip(text)})
	}
	m.mu.Unlock()
	if reason == Panic {
		m.judge(verdict{reason: Panic, line: n, detail: clip(text)})
	}
}

// once closes a channel that only the console's reader closes.
func (m *Machine) once(ch chan struct{}) {
	select {
	case <-ch:
	default:
		close(ch)
	}
}

func (m *Machine) isReady() bool {
	select {
	case <-m.ready:
		return true
	default:
		return false
	}
}

// follow acts on QEMU's events until there are no more.
func (m *Machine) follow(events <-chan qmp.Event) {
	text := func(e qmp.Event, name string) string { s, _ := e.Data[name].(string); return s }
	for e := range events {
		switch e.Event {
		case "GUEST_PANICKED":
			m.judge(verdict{reason: Panic, detail: "the kernel told pvpanic that it panicked"})
		case "SHUTDOWN":
			m.mu.Lock()
			if m.shutdown == "" { // libvirt then ends QEMU by a signal, which tells of a second one
				m.shutdown = text(e, "reason")
			}
			m.mu.Unlock()
		case "STOP": // libvirt's suspend, or a debugger; QEMU says it at its end too
			m.mu.Lock()
			ending := m.verdict != nil || m.shutdown != ""
			m.mu.Unlock()
			if !ending && m.isReady() {
				m.judge(verdict{reason: Paused, detail: "somebody paused the guest", hint: pausedHint})
			}
		case "BLOCK_IO_ERROR":
			// QEMU tells of those too that it passes on to the guest.
			if !m.toFail(text(e, "node-name")) {
				m.judge(m.driveError(text(e, "node-name"), text(e, "operation"), text(e, "reason")))
			}
		case "VSERPORT_CHANGE":
			if text(e, "id") == sshPortID {
				open, _ := e.Data["open"].(bool)
				m.port(open)
			}
		}
	}
}

// port notes that the guest opened or closed the SSH port. QEMU does not pass
// the closing on to the socket.
func (m *Machine) port(open bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.portOpen && !open && m.isReady() {
		m.portShut = true
		m.channel.Close()
	}
	m.portOpen = open
}

// toFail says whether a node is that of a drive that is to fail requests.
func (m *Machine) toFail(node string) bool {
	for i, d := range m.cfg.Drives {
		if d.Fails && node == (testDisk{n: i}).node() {
			return true
		}
	}
	return false
}

func (m *Machine) driveError(node, operation, reason string) verdict {
	name := node
	for i, d := range m.cfg.Drives {
		if node == (testDisk{n: i}).node() {
			name = d.Serial
		}
	}
	if name == "root" {
		name = "root disk " + m.cfg.Root
	}
	return verdict{reason: DriveError, detail: fmt.Sprintf("%s of %s failed on the host's side: %s", operation, name, reason)}
}

// supervise waits for the end, and brings it about where it must.
func (m *Machine) supervise(ctx context.Context) {
	var kill <-chan time.Time
	judged, ready := m.judged, m.Ready()
	boot := time.NewTimer(m.cfg.BootLimit)
	defer boot.Stop()
	extended := false
	for {
		select {
		case <-m.process.Done():
			m.finish(ctx)
			return
		case <-judged:
			judged = nil
			kill = time.After(m.grace())
		case <-kill:
			kill = nil
			m.process.Kill()
		case <-ready:
			ready = nil
			boot.Stop()
		case <-boot.C:
			_, grew, _ := m.console.state()
			if !extended && time.Since(grew) < stillTalking {
				extended = true
				boot.Reset(m.cfg.BootLimit)
				continue
			}
			go m.judgeBy(ctx, m.bootFailure())
		}
	}
}

// grace is how long the machine may go on after the verdict.
func (m *Machine) grace() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.verdict.reason == Panic || m.verdict.reason == Fatal {
		return lastWords
	}
	return 0
}

// finish sums up once QEMU is gone.
func (m *Machine) finish(ctx context.Context) {
	m.serial.SetReadDeadline(time.Now().Add(holdOpen))
	<-m.drained
	select {
	case <-m.monitor.Done():
	case <-time.After(holdOpen):
	}
	m.monitor.Disconnect()
	<-m.followed
	m.channel.Close()
	m.serial.Close()
	if m.live != nil {
		m.live.close(time.Second)
	}
	v := m.conclude(ctx, m.process.Wait())
	fmt.Fprintf(m.log, "# Ended: %s: %s\n", v.reason, v.detail)
	_, _, failed := m.console.state()
	failed = errors.Join(failed, m.console.file.Close(), m.log.Close())
	if failed != nil && v.weight() <= (&verdict{reason: Stopped}).weight() {
		v = verdict{reason: LogFailed, detail: "write the console log: " + failed.Error(), hint: "make room on the disk that holds " + m.cfg.Dir}
	}
	m.ending = Ending{
		Reason: v.reason, Kind: kindOf(v.reason), Detail: v.detail, Line: v.line, Hint: v.hint,
		Findings: m.Findings(), cause: v.cause,
	}
	if v.reason != Stopped {
		m.ending.Tail = excerpt(filepath.Join(m.cfg.Dir, ConsoleLog), m.tailFrom(v))
	}
	close(m.done)
}

// conclude gives the final verdict from all that is known.
func (m *Machine) conclude(ctx context.Context, exit error) verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v := m.verdict; v != nil {
		if oops, ok := m.first(Oops); ok && (v.reason == Hang || v.reason == Exit) {
			return verdict{reason: Oops, line: oops.Line, hint: v.hint, detail: oops.Text + "; then " + v.detail}
		}
		return *v
	}
	if ctx.Err() != nil {
		return verdict{reason: Stopped, detail: "interrupted", cause: context.Cause(ctx)}
	}
	var e *proc.Error
	if errors.As(exit, &e) {
		return verdict{reason: Killed, detail: e.Error(), hint: killHint(e)}
	}
	if exit != nil {
		return verdict{reason: Killed, detail: exit.Error()}
	}
	own := map[string]string{"guest-reset": "reset itself", "guest-shutdown": "powered itself off"}[m.shutdown]
	switch {
	case own == "" && m.shutdown == "":
		return verdict{reason: Killed, detail: "QEMU ended and did not say why"}
	case own == "":
		return verdict{reason: Killed, detail: "QEMU ended: " + m.shutdown}
	}
	if oops, ok := m.first(Oops); ok {
		return verdict{reason: Oops, line: oops.Line, detail: oops.Text + "; then the guest " + own}
	}
	lines, _, _ := m.console.state()
	v := verdict{reason: Exit, line: lines, detail: "the guest " + own + " though nobody had told it to"}
	if lines == 0 {
		v.hint = "it printed nothing: the kernel may lack a serial console (SERIAL_8250_CONSOLE), PVH, or be for another CPU"
	}
	return v
}

func killHint(e *proc.Error) string {
	if e.Signal == unix.SIGKILL {
		return "if nobody killed it, the host may be out of memory: see its dmesg"
	}
	if e.Signal == syscall.SIGABRT || e.Signal == syscall.SIGSEGV {
		return "QEMU crashed: its last words and the command line are in " + QEMULog
	}
	return ""
}

// first gives the first finding of a kind. The caller holds m.mu.
func (m *Machine) first(r Reason) (Finding, bool) {
	for _, f := range m.findings {
		if f.Reason == r {
			return f, true
		}
	}
	return Finding{}, false
}

// tailFrom gives the line at which the quoted console should start: a panic's
// cause is the oops before it.
func (m *Machine) tailFrom(v verdict) int {
	if v.line == 0 || v.reason == Exit {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.findings {
		if f.Reason == Oops && f.Line < v.line && v.line-f.Line < tailLines/2 {
			return f.Line
		}
	}
	return v.line
}
