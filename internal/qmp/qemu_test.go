package qmp_test

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/internal/qmp"
)

// qemu starts a QEMU without a machine and returns our end of its monitor.
func qemu(t *testing.T) (*proc.Process, net.Conn) {
	t.Helper()
	proctest.Need(t, "qemu-system-x86_64")
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	defer ours.Close()
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	p, err := proc.Start(t.Context(), proc.Cmd{
		Path: "qemu-system-x86_64",
		Args: []string{"-M", "none", "-nodefaults", "-no-user-config", "-display", "none",
			"-chardev", "socket,id=qmp,fd=3", "-mon", "chardev=qmp,mode=control"},
		ExtraFiles: []*os.File{theirs},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill(); p.Wait() })
	return p, conn
}

func TestQEMU(t *testing.T) {
	p, conn := qemu(t)
	q, err := qmp.Connect(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	if q.Version().QEMU.Major == 0 {
		t.Errorf("version %+v", q.Version())
	}
	events := q.Subscribe(t.Context())

	// The longest answer QEMU has, about 186 KB in 7.2.
	var schema []struct {
		Name     string
		MetaType string `json:"meta-type"`
	}
	if err := q.Execute(t.Context(), "query-qmp-schema", nil, &schema); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ name, meta string }{{"query-status", "command"}, {"GUEST_PANICKED", "event"}} {
		if !slices.ContainsFunc(schema, func(e struct {
			Name     string
			MetaType string `json:"meta-type"`
		}) bool {
			return e.Name == want.name && e.MetaType == want.meta
		}) {
			t.Errorf("the schema has no %s %s", want.meta, want.name)
		}
	}

	err = q.Execute(t.Context(), "no-such-command", nil, nil)
	var refusal *qmp.Error
	if !errors.As(err, &refusal) || refusal.Class != "CommandNotFound" {
		t.Errorf("unknown command: got %v, want a CommandNotFound", err)
	}

	// A stopped process holds up no context, and nothing is lost by it.
	p.Signal(syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	if err := q.Execute(ctx, "query-status", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stopped QEMU: got %v, want deadline exceeded", err)
	}
	cancel()
	p.Signal(syscall.SIGCONT)
	var status struct{ Status string }
	if err := q.Execute(t.Context(), "query-status", nil, &status); err != nil || status.Status == "" {
		t.Errorf("QEMU that goes on: status %q, error %v", status.Status, err)
	}

	if err := q.Execute(t.Context(), "quit", nil, nil); err != nil {
		t.Errorf("quit: %v", err)
	}
	var last string
	for e := range events {
		last = e.Event
	}
	if last != "SHUTDOWN" {
		t.Errorf("last event %q, want SHUTDOWN", last)
	}
	if err := q.Err(); !errors.Is(err, qmp.ErrClosed) {
		t.Errorf("after the end: %v, want ErrClosed", err)
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}
