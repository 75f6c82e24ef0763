// Package qmp speaks QEMU's machine protocol (docs/interop/qmp-spec.txt in
// QEMU's source) over a connection that is already there, usually one end of a
// socketpair whose other end QEMU inherited.
//
// A [Conn] promises:
//   - a reply goes to the command that asked for it, matched by id, whatever
//     events or late replies come between;
//   - messages may have any length (query-qmp-schema answers 186 KB);
//   - every call ends when its context ends, also while QEMU is stopped and
//     reads nothing;
//   - a subscriber that does not read blocks nobody. Its queue is bounded, and
//     where events were left out it finds an [EventsDropped] event in their
//     place;
//   - events that arrive before anybody subscribed, even before the greeting,
//     are kept for the first subscriber.
//
// It does not promise that a command whose context ended was not executed: it
// may be on its way. It does not reconnect, pass file descriptors or use
// out-of-band execution.
//
// Conn is a Monitor of github.com/digitalocean/go-qemu, so that package's
// tools work on it.
package qmp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"

	goqemu "github.com/digitalocean/go-qemu/qmp"
)

var _ goqemu.Monitor = (*Conn)(nil)

// Event and Version are go-qemu's, under the name of this package.
type (
	Event   = goqemu.Event
	Version = goqemu.Version
)

// ErrClosed is what every call returns once the connection is gone, wrapped
// with the cause where there is one.
var ErrClosed = errors.New("qmp connection closed")

// Error is QEMU's refusal of a command.
type Error struct {
	Class string // "GenericError", "CommandNotFound", ...
	Desc  string // QEMU's sentence for people
}

func (e *Error) Error() string {
	if e.Class == "" || e.Class == "GenericError" {
		return e.Desc
	}
	return e.Class + ": " + e.Desc
}

// Conn is one QMP session. All methods may be called from many goroutines.
type Conn struct {
	conn    net.Conn
	version Version
	out     chan []byte   // to the writer
	stop    chan struct{} // closed by the first failure or Disconnect
	ended   chan struct{} // closed once both goroutines are gone

	events fanout

	mu      sync.Mutex
	next    uint64
	pending map[string]chan message
	err     error // why stop was closed
}

// Connect waits for QEMU's greeting on c, negotiates and returns a session
// that owns c. If that fails, or ctx ends first, c is closed.
func Connect(ctx context.Context, c net.Conn) (*Conn, error) {
	q := &Conn{
		conn:    c,
		out:     make(chan []byte),
		stop:    make(chan struct{}),
		ended:   make(chan struct{}),
		pending: make(map[string]chan message),
	}
	greeting := make(chan Version, 1)
	var both sync.WaitGroup
	both.Go(func() { q.read(greeting) })
	both.Go(q.write)
	go func() {
		both.Wait()
		q.events.close()
		close(q.ended)
	}()

	var err error
	select {
	case q.version = <-greeting:
		err = q.Execute(ctx, "qmp_capabilities", nil, nil)
	case <-q.stop:
		err = q.Err()
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		q.Disconnect()
		return nil, fmt.Errorf("connect to qmp: %w", err)
	}
	return q, nil
}

// Version is what QEMU said of itself in its greeting.
func (c *Conn) Version() Version { return c.version }

// Done is closed once the session is over.
func (c *Conn) Done() <-chan struct{} { return c.stop }

// Err says why the session is over; nil while it lives.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Execute runs one command. args is marshalled to the command's "arguments",
// none if nil; the "return" value is unmarshalled into out unless that is nil.
// A refusal by QEMU is an *[Error].
func (c *Conn) Execute(ctx context.Context, name string, args, out any) error {
	fields := map[string]any{"execute": name}
	if args != nil {
		fields["arguments"] = args
	}
	reply, err := c.roundTrip(ctx, fields)
	if err == nil && reply.err != nil {
		err = reply.err
	}
	if err == nil && out != nil {
		err = json.Unmarshal(reply.result, out)
	}
	if err != nil {
		return fmt.Errorf("qmp %s: %w", name, err)
	}
	return nil
}

// Subscribe returns the events from now on (the first subscriber also gets
// those that came earlier). The channel is closed when ctx ends, and when the
// connection ends after everything queued was read. Who stops reading must end
// ctx.
func (c *Conn) Subscribe(ctx context.Context) <-chan Event {
	return c.events.subscribe(ctx)
}

// Connect does nothing to a session that lives and returns the reason of one
// that is over: a Conn is connected from its making.
func (c *Conn) Connect() error { return c.Err() }

// Disconnect ends the session and returns once nothing of it runs any more.
func (c *Conn) Disconnect() error {
	c.fail(ErrClosed)
	<-c.ended
	return nil
}

// Run sends a whole command and returns the whole reply, as go-qemu's Monitor
// has it. An "id" of the caller comes back in the reply.
func (c *Conn) Run(command []byte) ([]byte, error) {
	var members map[string]json.RawMessage // raw: a float64 would spoil large offsets
	if err := json.Unmarshal(command, &members); err != nil {
		return nil, fmt.Errorf("read qmp command: %w", err)
	}
	fields := make(map[string]any, len(members)+1)
	for name, value := range members {
		fields[name] = value
	}
	callers, had := fields["id"]
	reply, err := c.roundTrip(context.Background(), fields)
	if err != nil {
		return nil, fmt.Errorf("qmp: %w", err)
	}
	if reply.err != nil {
		return nil, fmt.Errorf("qmp: %w", reply.err)
	}
	answer := map[string]any{"return": reply.result}
	if had {
		answer["id"] = callers
	}
	return json.Marshal(answer)
}

// Events is Subscribe as go-qemu's Monitor has it.
func (c *Conn) Events(ctx context.Context) (<-chan Event, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	return c.Subscribe(ctx), nil
}

// roundTrip sends fields under a fresh id and waits for the reply to it.
func (c *Conn) roundTrip(ctx context.Context, fields map[string]any) (message, error) {
	answer := make(chan message, 1)
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return message{}, c.err
	}
	c.next++
	id := "spindle-" + strconv.FormatUint(c.next, 10)
	c.pending[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.pending, id)
		c.mu.Unlock()
	}()

	fields["id"] = id
	line, err := json.Marshal(fields)
	if err != nil {
		return message{}, err
	}
	select {
	case c.out <- append(line, '\n'):
	case <-ctx.Done():
		return message{}, ctx.Err()
	case <-c.stop:
		return message{}, c.Err()
	}
	select {
	case m := <-answer:
		return m, nil
	case <-ctx.Done():
		return message{}, ctx.Err()
	case <-c.stop:
		// QEMU answers "quit" and is gone: the answer may be here already.
		select {
		case m := <-answer:
			return m, nil
		default:
			return message{}, c.Err()
		}
	}
}

// read is the only reader of the connection.
func (c *Conn) read(greeting chan<- Version) {
	dec := json.NewDecoder(c.conn)
	greeted := false
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			c.fail(fmt.Errorf("%w: %w", ErrClosed, plainEOF(err)))
			return
		}
		m, err := parse(raw)
		if err != nil {
			c.fail(err)
			return
		}
		switch m.kind {
		case isEvent:
			c.events.publish(m.event)
		case isGreeting:
			if !greeted {
				greeted = true
				greeting <- m.version
			}
		case isReply:
			if m.id == "" {
				// QEMU leaves the id out when it could not read a command;
				// whose it was cannot be told any more.
				c.fail(fmt.Errorf("%w: reply without an id: %s", ErrClosed, clip(raw)))
				return
			}
			c.mu.Lock()
			answer := c.pending[m.id]
			delete(c.pending, m.id)
			c.mu.Unlock()
			if answer != nil { // else its caller has given up
				answer <- m
			}
		}
	}
}

// write is the only writer. A peer that does not read holds up this goroutine
// and nobody's context.
func (c *Conn) write() {
	for {
		select {
		case line := <-c.out:
			if _, err := c.conn.Write(line); err != nil {
				c.fail(fmt.Errorf("%w: %w", ErrClosed, err))
				return
			}
		case <-c.stop:
			return
		}
	}
}

// fail ends the session for the first reason given.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.stop)
	c.conn.Close()
}

func plainEOF(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("in the middle of a message: %w", err)
	}
	return err
}
