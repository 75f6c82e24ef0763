package machine

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"spindle/internal/fault"
	"spindle/pipeline/drive"
)

// fake is a machine whose QEMU is a shell script.
func fake(t *testing.T, script string) Config {
	t.Helper()
	return Config{QEMU: fakeQEMU(t, script), Kernel: "vmlinux", Memory: 64 << 20, Dir: t.TempDir()}
}

func start(t *testing.T, cfg Config) *Machine {
	t.Helper()
	m, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// says and event are lines for scripts: on the console, and from QEMU.
func says(line string) string  { return "printf '%s\\r\\n' '" + line + "' >&3\n" }
func event(json string) string { return "printf '%s\\r\\n' '" + json + "' >&4\n" }

const stamped = `"timestamp": {"seconds": 1, "microseconds": 2}}`

func shutdown(reason string) string {
	return event(`{"event": "SHUTDOWN", "data": {"guest": true, "reason": "` + reason + `"}, ` + stamped)
}

func panicked() string {
	return event(`{"event": "GUEST_PANICKED", "data": {"action": "run"}, ` + stamped)
}

// Ends that real guests do not come to on demand.
func TestEnding(t *testing.T) {
	const kernelPanics = "[    1.000000] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000009"
	const oops = "[    0.900000] BUG: kernel NULL pointer dereference, address: 0000000000000008"
	tests := map[string]struct {
		script string
		reason Reason
		detail string
		line   int
		tail   string // its first line
	}{
		"no word":        {"exit 0", Killed, "QEMU ended and did not say why", 0, ""},
		"signal to QEMU": {shutdown("host-signal") + "exit 0", Killed, "QEMU ended: host-signal", 0, ""},
		"crash":          {"echo 'Assertion failed' >&2; kill -SEGV $$", Killed, "killed by SIGSEGV: Assertion failed", 0, ""},
		"error later":    {"echo 'out of luck' >&2; exit 1", Killed, "exit status 1: out of luck", 0, ""},
		"reset, silent":  {shutdown("guest-reset") + "exit 0", Exit, "the guest reset itself", 0, ""},
		"power off": {says("[    0.100000] one") + says("[    0.200000] reboot: Power down") + shutdown("guest-shutdown") + "exit 0",
			Exit, "the guest powered itself off", 2, "[    0.100000] one"},
		"reset after oops": {says("boot") + says(oops) + shutdown("guest-reset") + "exit 0",
			Oops, "address: 0000000000000008; then the guest reset itself", 2, "boot"},
		"panic, exit status 0": {says(kernelPanics) + shutdown("guest-reset") + "exit 0",
			Panic, "Attempted to kill init", 1, kernelPanics},
		"panic told by pvpanic alone": {panicked() + "sleep 0.5; exit 0", Panic, "told pvpanic", 0, ""},
		"panic told by pvpanic first": {panicked() + "sleep 0.5\n" + says(kernelPanics) + "exit 0", Panic, "Attempted to kill init", 1, kernelPanics},
		"panic after oops": {strings.Repeat(says("boot"), 20) + says(oops) + strings.Repeat(says("trace"), 12) + says(kernelPanics) + "exit 0",
			Panic, "Attempted to kill init", 34, "boot"},
		// As a guest of QEMU 7.2 printed it.
		"emulator breaks": {says("[    5.316050] traps: PANIC: double fault, error_code: 0x0") + says("[    5.318374] Oops: double fault: 0000 [#1] PREEMPT SMP NOPTI") +
			says("[    5.321359] RSP: 0018:ffffc900006d79b0 EFLAGS: 1e6b6e82") + says("[    5.325480] Kernel panic - not syncing: Fatal exception in interrupt") + "exit 0",
			Emulator, "flags that no CPU has", 3, "[    5.316050] traps: PANIC: double fault, error_code: 0x0"},
		"panic while QEMU crashes": {says(kernelPanics) + "kill -SEGV $$", Panic, "Attempted to kill init", 1, kernelPanics},
		"init gives up, and so does the kernel": {says("spindle: fatal: no root") + says(kernelPanics) + "exit 0",
			Fatal, "init gave up: no root", 1, "spindle: fatal: no root"},
		"sshd does not start": {says("spindle: sshd exited: exit status 1") + "sleep 60",
			SSHLost, "its SSH server ended: sshd exited: exit status 1", 1, "spindle: sshd exited: exit status 1"},
		"drive error": {event(`{"event": "BLOCK_IO_ERROR", "data": {"device": "", "node-name": "d0", "operation": "write", "action": "stop", "nospace": false, "reason": "Input/output error"}, `+stamped) + "sleep 60",
			DriveError, "write of spindle-d0 failed on the host's side: Input/output error", 0, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := fake(t, qmpSays+test.script)
			ours, theirs, err := pair()
			if err != nil {
				t.Fatal(err)
			}
			cfg.Drives = []Disk{{Client: theirs, Bus: drive.AHCI, Serial: "spindle-d0"}}
			e := start(t, cfg).Ending()
			if e.Reason != test.reason || e.Kind != kindOf(test.reason) || !strings.Contains(e.Detail, test.detail) || e.Line != test.line {
				t.Errorf("ends with %s, %v, line %d: %s\nwant %s, line %d: %s", e.Reason, e.Kind, e.Line, e.Detail, test.reason, test.line, test.detail)
			}
			if first, _, _ := strings.Cut(e.Tail, "\n"); first != test.tail {
				t.Errorf("tail starts with %q, want %q", first, test.tail)
			}
			if err := e.Err(); fault.Reason(err) != string(test.reason) || fault.Of(err) != e.Kind {
				t.Errorf("error %v", err)
			}
			// The server of the drive sees QEMU go.
			ours.SetReadDeadline(time.Now().Add(time.Second))
			if _, err := ours.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the drive's connection is still open: %v", err)
			}
			log, err := os.ReadFile(filepath.Join(cfg.Dir, QEMULog))
			if err != nil || !strings.Contains(string(log), "-kernel vmlinux") || !strings.Contains(string(log), "# Ended: "+string(test.reason)) {
				t.Errorf("%s: %v\n%s", QEMULog, err, log)
			}
		})
	}
}

// A machine that panics and then does not go is made to.
func TestLastWords(t *testing.T) {
	m := start(t, fake(t, qmpSays+says("Kernel panic - not syncing: stuck")+"sleep 0.1\n"+says("more")+"exec sleep 60"))
	if e := m.Ending(); e.Reason != Panic || !strings.HasSuffix(e.Tail, "\nmore") {
		t.Errorf("ends with %s, tail %q", e.Reason, e.Tail)
	}
}

func TestStop(t *testing.T) {
	m := start(t, fake(t, qmpSays+`read line <&4; printf '{"return": {}, "id": "spindle-2"}\n' >&4; exit 0`))
	if err := m.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if e := m.Ending(); e.Reason != Stopped || e.Err() != nil {
		t.Errorf("ends with %s, %v", e.Reason, e.Err())
	}
	if err := m.Stop(t.Context()); err != nil {
		t.Errorf("stopped twice: %v", err)
	}
	m.Close()

	m = start(t, fake(t, qmpSays+"exec sleep 60")) // deaf to quit
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := m.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("deaf QEMU: got %v, want deadline exceeded", err)
	}
	if e := m.Ending(); e.Reason != Stopped {
		t.Errorf("ends with %s", e.Reason)
	}
}

// The channel ends with the guest's SSH server, on whichever sign of it.
func TestChannelCloses(t *testing.T) {
	port := func(open string) string {
		return event(`{"event": "VSERPORT_CHANGE", "data": {"id": "ssh-port", "open": ` + open + `}, ` + stamped)
	}
	for name, script := range map[string]string{
		"console": says("spindle: ready") + "sleep 0.2\n" + says("spindle: sshd exited: signal: killed"),
		"port":    port("true") + says("spindle: ready") + "sleep 0.5\n" + port("false"),
	} {
		t.Run(name, func(t *testing.T) {
			m := start(t, fake(t, qmpSays+script+"exec sleep 60"))
			<-m.Ready()
			m.Channel().SetReadDeadline(time.Now().Add(30 * time.Second))
			if _, err := m.Channel().Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
				t.Errorf("read gives %v, want net.ErrClosed", err)
			}
			select {
			case <-m.Done():
				t.Error("the machine ended")
			default:
			}
		})
	}
}

func TestFullDisk(t *testing.T) {
	cfg := fake(t, qmpSays+says("hello")+`read line <&4; printf '{"return": {}, "id": "spindle-2"}\n' >&4; exit 0`)
	if err := os.Symlink("/dev/full", filepath.Join(cfg.Dir, ConsoleLog)); err != nil {
		t.Fatal(err)
	}
	m := start(t, cfg)
	if err := m.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if e := m.Ending(); e.Reason != LogFailed || !strings.Contains(e.Detail, syscall.ENOSPC.Error()) {
		t.Errorf("ends with %s: %s", e.Reason, e.Detail)
	}
}

func TestStartInterrupted(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { cancel(cause) })
	if _, err := Start(ctx, fake(t, "exec sleep 60")); !errors.Is(err, cause) { // no greeting
		t.Errorf("got %v, want the context's cause", err)
	}
}
