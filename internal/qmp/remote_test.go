package qmp

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// lent is a monitor as libvirt lends one.
type lent struct {
	run    func(command string) (string, error)
	events chan Event
	refuse error
	left   bool
}

func (l *lent) Connect() error    { return nil }
func (l *lent) Disconnect() error { l.left = true; return nil }

func (l *lent) Run(command []byte) ([]byte, error) {
	out, err := l.run(string(command))
	return []byte(out), err
}

func (l *lent) Events(ctx context.Context) (<-chan Event, error) {
	if l.refuse != nil {
		return nil, l.refuse
	}
	out := make(chan Event)
	go func() {
		defer close(out)
		for {
			select {
			case e, ok := <-l.events:
				if !ok {
					return
				}
				out <- e
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

func TestRemote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lent{events: make(chan Event)}
		var asked string
		l.run = func(command string) (string, error) {
			asked = command
			switch {
			case strings.Contains(command, "query-status"):
				return `{"return": {"status": "running"}, "id": "libvirt-7"}`, nil
			case strings.Contains(command, "slow"):
				time.Sleep(time.Hour)
			}
			return "", errors.New("The command x has not been found")
		}
		r, err := Over(l)
		if err != nil {
			t.Fatal(err)
		}
		var s struct{ Status string }
		if err := r.Execute(t.Context(), "query-status", nil, &s); err != nil || s.Status != "running" {
			t.Errorf("status %q, %v", s.Status, err)
		}
		if err := r.Execute(t.Context(), "x", map[string]string{"id": "console"}, nil); err == nil || err.Error() != "qmp x: The command x has not been found" {
			t.Errorf("refusal: %v", err)
		}
		if asked != `{"arguments":{"id":"console"},"execute":"x"}` {
			t.Errorf("asked %s", asked)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Execute(ctx, "slow", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("slow: %v", err)
		}

		// Events of before the first subscriber are his; nobody who reads not
		// holds up the monitor.
		for _, name := range []string{"RESUME", "SHUTDOWN"} {
			l.events <- Event{Event: name}
		}
		events := r.Subscribe(t.Context())
		idle := r.Subscribe(t.Context())
		_ = idle
		for range 1000 {
			l.events <- Event{Event: "MANY"}
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{"RESUME", "SHUTDOWN", "MANY"}, []string{(<-events).Event, (<-events).Event, (<-events).Event}); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		r.Disconnect()
		<-r.Done()
		for range events {
		}
		if !l.left {
			t.Error("the monitor was not left")
		}
		if err := r.Execute(t.Context(), "slow", nil, nil); !errors.Is(err, ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
		time.Sleep(2 * time.Hour) // of the calls given up
	})
}

// A monitor that ends, ends the session.
func TestRemoteEnds(t *testing.T) {
	l := &lent{events: make(chan Event)}
	r, err := Over(l)
	if err != nil {
		t.Fatal(err)
	}
	close(l.events)
	<-r.Done()
	for range r.Subscribe(t.Context()) {
		t.Error("an event from nowhere")
	}
	if _, err := Over(&lent{refuse: errors.New("no domain")}); err == nil {
		t.Error("a monitor without events")
	}
}
