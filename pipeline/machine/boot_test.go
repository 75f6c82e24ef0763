package machine_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"spindle/internal/fault"
	"spindle/pipeline/machine"

	"github.com/google/go-cmp/cmp"
)

// boot starts the test's init in the given mode.
func boot(t *testing.T, mode string, change func(*machine.Config)) *machine.Machine {
	t.Helper()
	cfg := config(t, mode)
	if change != nil {
		change(&cfg)
	}
	m, err := machine.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Close()
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(cfg.Dir, machine.ConsoleLog))
			t.Logf("%s:\n%s", machine.ConsoleLog, log)
			log, _ = os.ReadFile(filepath.Join(cfg.Dir, machine.QEMULog))
			t.Logf("%s:\n%s", machine.QEMULog, log)
		}
	})
	return m
}

// ready waits for the guest and gives its port.
func ready(t *testing.T, m *machine.Machine) *port {
	t.Helper()
	select {
	case <-m.Ready():
	case <-m.Done():
		t.Fatalf("not ready: %v", m.Ending().Err())
	}
	return &port{t, bufio.NewReader(m.Channel()), m}
}

// port talks to the test's init.
type port struct {
	t *testing.T
	r *bufio.Reader
	m *machine.Machine
}

func (p *port) send(line string) {
	p.t.Helper()
	if _, err := p.m.Channel().Write([]byte(line + "\n")); err != nil {
		p.t.Fatal(err)
	}
}

func (p *port) ask(line string) string {
	p.t.Helper()
	p.send(line)
	reply, err := p.r.ReadString('\n')
	if err != nil {
		p.t.Fatalf("%s: %v; machine: %v", line, err, p.m.Ending().Err())
	}
	return strings.TrimSpace(reply)
}

// ends waits for the end and holds it against what it must be.
func ends(t *testing.T, m *machine.Machine, reason machine.Reason, kind fault.Kind, detail string) machine.Ending {
	t.Helper()
	select {
	case <-m.Done():
	case <-time.After(time.Minute):
		t.Fatal("the machine does not end")
	}
	e := m.Ending()
	if e.Reason != reason || e.Kind != kind {
		t.Errorf("ending %s, %v (%s), want %s, %v", e.Reason, e.Kind, e.Detail, reason, kind)
	}
	if !regexp.MustCompile(detail).MatchString(e.Detail) {
		t.Errorf("detail %q, want /%s/", e.Detail, detail)
	}
	return e
}

// line gives a line of the machine's console log.
func line(t *testing.T, dir string, n int) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, machine.ConsoleLog))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	if n < 1 || n > len(lines) {
		t.Fatalf("line %d of %d", n, len(lines))
	}
	return lines[n-1]
}

func TestBootAndStop(t *testing.T) {
	var dir string
	m := boot(t, "ready", func(c *machine.Config) { dir, c.CPUs = c.Dir, 2 })
	p := ready(t, m)
	if got := p.ask("echo hello"); got != "hello" {
		t.Errorf("the port says %q", got)
	}
	if got := p.ask("show /proc/cmdline"); !strings.Contains(got, " panic=-1 console=ttyS0 ") {
		t.Errorf("kernel command line %q", got)
	}
	if got := p.ask("show /sys/devices/system/cpu/online"); got != "0-1" {
		t.Errorf("CPUs %s, want 0-1", got)
	}
	// Nothing that could reach a network: no device but lo, and no card on the
	// PCI bus (class 0x02).
	if got := p.ask("show /proc/net/dev"); strings.Contains(got, "eth") {
		t.Errorf("network devices: %s", got)
	}
	var status struct{ Status string }
	if err := m.QMP().Execute(t.Context(), "query-status", nil, &status); err != nil || status.Status != "running" {
		t.Errorf("status %q, %v", status.Status, err)
	}
	if err := m.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	e := ends(t, m, machine.Stopped, fault.Machinery, "^stopped$")
	if e.Err() != nil || len(e.Bad()) != 0 {
		t.Errorf("stopped in good order, but: %v, findings %v", e.Err(), e.Findings)
	}
	if got := line(t, dir, 1); !strings.Contains(got, "Linux version") {
		t.Errorf("console starts with %q", got)
	}
}

func TestPanic(t *testing.T) {
	tests := map[string]struct {
		mode   string
		change func(*machine.Config)
		run    func(t *testing.T, m *machine.Machine)
		detail string
	}{
		"init exits":   {mode: "exit", detail: "not syncing: Attempted to kill init! exitcode=0x00000700"},
		"no initramfs": {mode: "ready", change: func(c *machine.Config) { c.Initrd = "" }, detail: "not syncing: VFS: Unable to mount root fs"},
		"later": {mode: "ready", run: func(t *testing.T, m *machine.Machine) {
			ready(t, m).send("panic")
		}, detail: "not syncing: sysrq triggered crash"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dir string
			m := boot(t, test.mode, func(c *machine.Config) {
				dir = c.Dir
				if test.change != nil {
					test.change(c)
				}
			})
			if test.run != nil {
				test.run(t, m)
			}
			e := ends(t, m, machine.Panic, fault.Kernel, test.detail)
			if got := line(t, dir, e.Line); !strings.Contains(got, "Kernel panic - not syncing") {
				t.Errorf("line %d is %q", e.Line, got)
			}
			if !strings.Contains(e.Tail, "Kernel panic - not syncing") || !strings.Contains(e.Tail, "Call Trace:") {
				t.Errorf("tail lacks the panic, or where it was:\n%s", e.Tail)
			}
			if fault.Of(e.Err()) != fault.Kernel || fault.Reason(e.Err()) != "panic" {
				t.Errorf("error %v", e.Err())
			}
		})
	}
}

func TestEarlyExit(t *testing.T) {
	tests := map[string]struct {
		mode   string
		reason machine.Reason
		kind   fault.Kind
		detail string
	}{
		"power off": {"poweroff", machine.Exit, fault.Kernel, "powered itself off"},
		"reset":     {"reset", machine.Exit, fault.Kernel, "reset itself"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := ends(t, boot(t, test.mode, nil), test.reason, test.kind, test.detail)
			if e.Line == 0 || e.Tail == "" {
				t.Errorf("no evidence: line %d, tail %q", e.Line, e.Tail)
			}
		})
	}
}

// notStarved skips where the host was too busy to tell.
func notStarved(t *testing.T, e machine.Ending) {
	t.Helper()
	if e.Reason == machine.Starved {
		t.Skip(e.Detail)
	}
}

func TestHangAtBoot(t *testing.T) {
	t.Parallel()
	m := boot(t, "silent", func(c *machine.Config) { c.BootLimit = 20 * time.Second })
	notStarved(t, m.Ending())
	// 40 s if the kernel still printed after 15.
	e := ends(t, m, machine.Hang, fault.Kernel, "not ready after [24]0s; QEMU runs it; .*; the kernel still answers SysRq")
	if !strings.Contains(e.Tail, "sysrq: Show Blocked State") {
		t.Errorf("tail lacks the kernel's answer:\n%s", e.Tail)
	}
}

// A guest that still prints at its boot limit gets as long once more, and not
// longer.
func TestSlowBoot(t *testing.T) {
	t.Parallel()
	start := time.Now()
	m := boot(t, "talk", func(c *machine.Config) { c.BootLimit = 5 * time.Second })
	notStarved(t, m.Ending())
	ends(t, m, machine.Hang, fault.Kernel, "not ready after 10s; QEMU runs it; the console still talks")
	if d := time.Since(start); d < 10*time.Second {
		t.Errorf("ended after %v, want two boot limits", d)
	}
}

var errNoAnswer = errors.New("no answer")

func TestDiagnose(t *testing.T) {
	tests := map[string]struct {
		ready  bool // the guest must be
		upset  func(t *testing.T, m *machine.Machine, p *port)
		reason machine.Reason
		kind   fault.Kind
		detail string
	}{
		"kernel spins": {true, func(t *testing.T, m *machine.Machine, p *port) {
			p.send("hog")
			time.Sleep(time.Second)
		}, machine.Hang, fault.Kernel, `its CPUs used [1-9]\d+ %`},
		"sshd killed": {true, func(t *testing.T, m *machine.Machine, p *port) {
			p.send("sshd")
			if _, err := p.r.ReadByte(); err == nil {
				t.Error("the channel is still open")
			}
		}, machine.SSHLost, fault.Machinery, "its SSH server ended: sshd exited: signal: killed"},
		"port closed": {true, func(t *testing.T, m *machine.Machine, p *port) {
			p.send("shut")
			if _, err := p.r.ReadByte(); err == nil {
				t.Error("the channel is still open")
			}
		}, machine.SSHLost, fault.Machinery, "closed its SSH port"},
		"paused": {false, func(t *testing.T, m *machine.Machine, p *port) {
			if err := m.QMP().Execute(t.Context(), "stop", nil, nil); err != nil {
				t.Fatal(err)
			}
		}, machine.Paused, fault.Machinery, "paused"},
		"QEMU stopped": {false, func(t *testing.T, m *machine.Machine, p *port) {
			if err := syscall.Kill(m.Pid(), syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}, machine.Paused, fault.Machinery, "stopped by a signal"},
		"QEMU killed": {false, func(t *testing.T, m *machine.Machine, p *port) {
			if err := syscall.Kill(m.Pid(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}, machine.Killed, fault.Machinery, "killed by SIGKILL"},
		"panic": {true, func(t *testing.T, m *machine.Machine, p *port) {
			p.send("panic")
		}, machine.Panic, fault.Kernel, "sysrq triggered crash"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := boot(t, "ready", nil)
			var p *port
			if test.ready {
				p = ready(t, m)
				p.ask("echo alive")
			}
			test.upset(t, m, p)
			err := m.Diagnose(t.Context(), errNoAnswer)
			notStarved(t, m.Ending())
			e := ends(t, m, test.reason, test.kind, test.detail)
			if err == nil || err.Error() != e.Err().Error() {
				t.Errorf("Diagnose gives %v, the ending %v", err, e.Err())
			}
		})
	}
}

// A machine that was stopped while its SSH side failed is not to blame.
func TestDiagnoseStopped(t *testing.T) {
	m := boot(t, "ready", nil)
	m.Close()
	if err := m.Diagnose(t.Context(), errNoAnswer); err != errNoAnswer {
		t.Errorf("got %v, want the cause", err)
	}
}

func TestContextEnds(t *testing.T) {
	cfg := config(t, "silent")
	ctx, cancel := context.WithCancelCause(t.Context())
	m, err := machine.Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("the budget is used up")
	cancel(cause)
	e := ends(t, m, machine.Stopped, fault.Machinery, "interrupted")
	if !errors.Is(e.Err(), cause) {
		t.Errorf("error %v, want the context's cause", e.Err())
	}
}

// What the kernel prints of trouble is found also when the machine lives on,
// and explains an end that follows.
func TestFindings(t *testing.T) {
	m := boot(t, "ready", nil)
	p := ready(t, m)
	p.ask("kmsg INFO: task kworker/u2:1:33 blocked for more than 120 seconds.")
	p.ask("kmsg BUG: kernel NULL pointer dereference, address: 0000000000000008")
	p.ask("echo still here")
	// The console comes by another way than the port's reply.
	for range 100 {
		if len(m.Findings()) == 2 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.send("reset")
	e := ends(t, m, machine.Oops, fault.Kernel, "NULL pointer dereference, address: 0000000000000008; then the guest reset itself")
	var reasons []machine.Reason
	for _, f := range e.Findings {
		reasons = append(reasons, f.Reason)
	}
	if diff := cmp.Diff([]machine.Reason{machine.Hang, machine.Oops}, reasons); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// Whatever this host has, the probe says in time, says it again, and a machine
// boots with it.
func TestProbeAccel(t *testing.T) {
	cfg, cache := config(t, "ready"), t.TempDir()
	start := time.Now()
	first, err := machine.ProbeAccel(t.Context(), cfg, cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s after %v", first, time.Since(start))
	again, err := machine.ProbeAccel(t.Context(), cfg, cache, nil)
	if err != nil || again != first {
		t.Errorf("then %q, %v", again, err)
	}
	m := boot(t, "ready", func(c *machine.Config) { c.Accel = first })
	ready(t, m)
	cfg.Accel = machine.KVM
	if a, err := machine.ProbeAccel(t.Context(), cfg, cache, nil); first == machine.KVM && a != machine.KVM || first == machine.TCG && fault.Of(err) != fault.Plan {
		t.Errorf("kvm asked for: %q, %v", a, err)
	}
}

func TestStartRefused(t *testing.T) {
	tests := map[string]struct {
		change func(t *testing.T, c *machine.Config)
		want   string
	}{
		"not a kernel": {func(t *testing.T, c *machine.Config) {
			c.Kernel = filepath.Join(t.TempDir(), "notes.txt")
			os.WriteFile(c.Kernel, []byte(strings.Repeat("hello ", 1000)), 0o644)
		}, "qemu"},
		"no such root": {func(t *testing.T, c *machine.Config) { c.Root = "/nonexistent/root,squashfs" }, "Could not open '/nonexistent/root,squashfs'"},
		"no such QEMU": {func(t *testing.T, c *machine.Config) { c.QEMU = "qemu-system-nonexistent" }, "qemu-system-nonexistent"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := config(t, "ready")
			test.change(t, &cfg)
			m, err := machine.Start(t.Context(), cfg)
			if err == nil {
				m.Close()
				t.Fatal("started")
			}
			if fault.Of(err) != fault.Machinery || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want a machinery fault with %q", err, test.want)
			}
		})
	}
}
