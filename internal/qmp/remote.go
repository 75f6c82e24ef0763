package qmp

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	goqemu "github.com/digitalocean/go-qemu/qmp"
)

// Remote is a QMP session that another program holds and lends: libvirt, by
// go-qemu's monitor for it. It has the calls of a [Conn] and keeps the same
// promises to its callers, whatever the monitor below does: every call ends with
// its context, and who does not read events holds up nobody.
//
// It cannot tell by itself that QEMU is gone: the monitor lives on without it.
// Whoever learns of it calls Disconnect.
type Remote struct {
	monitor goqemu.Monitor
	events  fanout
	cancel  context.CancelFunc
	once    sync.Once
	leave   sync.Once
	stop    chan struct{} // closed by Disconnect, or by the monitor's end
	ended   chan struct{} // no more events
}

// Over makes a session of a monitor that is connected, and owns it. Events are
// kept from now on.
func Over(m goqemu.Monitor) (*Remote, error) {
	ctx, cancel := context.WithCancel(context.Background())
	in, err := m.Events(ctx)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("subscribe to qmp events: %w", err)
	}
	r := &Remote{monitor: m, cancel: cancel, stop: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		for e := range in {
			r.events.publish(e)
		}
		r.events.close()
		r.once.Do(func() { close(r.stop) })
	}()
	return r, nil
}

// Execute runs one command, as [Conn.Execute] does. The monitor gives no class
// to a refusal.
func (r *Remote) Execute(ctx context.Context, name string, args, out any) error {
	fields := map[string]any{"execute": name}
	if args != nil {
		fields["arguments"] = args
	}
	line, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("qmp %s: %w", name, err)
	}
	type answer struct {
		text []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := r.monitor.Run(line)
		answers <- answer{text, err}
	}()
	var a answer
	select {
	case a = <-answers:
	case <-ctx.Done():
		a.err = ctx.Err()
	case <-r.stop:
		a.err = ErrClosed
	}
	if a.err == nil && out != nil {
		var reply struct {
			Return json.RawMessage `json:"return"`
		}
		if a.err = json.Unmarshal(a.text, &reply); a.err == nil {
			a.err = json.Unmarshal(reply.Return, out)
		}
	}
	if a.err != nil {
		return fmt.Errorf("qmp %s: %w", name, a.err)
	}
	return nil
}

// Subscribe returns the events, as [Conn.Subscribe] does.
func (r *Remote) Subscribe(ctx context.Context) <-chan Event { return r.events.subscribe(ctx) }

// Done is closed once the session is over.
func (r *Remote) Done() <-chan struct{} { return r.stop }

// disconnectLimit bounds how long a monitor may take to let go: those of libvirt
// ask their daemon, which may be gone.
const disconnectLimit = 3 * time.Second

// Disconnect ends the session. Subscribers still get what is queued.
func (r *Remote) Disconnect() error {
	r.leave.Do(r.disconnect)
	return nil
}

func (r *Remote) disconnect() {
	r.once.Do(func() { close(r.stop) })
	r.cancel()
	select {
	case <-r.ended:
	case <-time.After(disconnectLimit):
	}
	left := make(chan error, 1)
	go func() { left <- r.monitor.Disconnect() }()
	select {
	case <-left: // a daemon that is gone cannot be taken leave of
	case <-time.After(disconnectLimit):
	}
	r.events.close()
}
