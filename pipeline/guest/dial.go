package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"spindle/internal/fault"

	"golang.org/x/crypto/ssh"
)

// ErrLost is in the chain of every error that a lost guest causes.
var ErrLost = errors.New("the guest no longer answers over SSH")

// Options may all be left out.
type Options struct {
	User string // "" means root
	// Handshake bounds Dial. It takes 0.1 s in a guest without KVM on an idle
	// host. 0 means 30 s.
	Handshake time.Duration
	// Keepalive is how often the guest must show that it lives. 0 means 2 s.
	Keepalive time.Duration
	// Silence is how long it may leave a keepalive unanswered until it counts
	// as lost. A guest in the middle of heavy writeback may take seconds. 0
	// means 30 s.
	Silence time.Duration
}

func (o *Options) fill() {
	if o.User == "" {
		o.User = "root"
	}
	for _, d := range []struct {
		value *time.Duration
		usual time.Duration
	}{{&o.Handshake, 30 * time.Second}, {&o.Keepalive, 2 * time.Second}, {&o.Silence, 30 * time.Second}} {
		if *d.value == 0 {
			*d.value = d.usual
		}
	}
}

// Guest is a guest that answered. Its methods may be called from many
// goroutines.
type Guest struct {
	client *ssh.Client
	opts   Options

	lost  chan struct{} // closed when the connection is over
	ended sync.WaitGroup
	mu    sync.Mutex
	err   error // why
}

// Dial logs in over conn and owns it from then on. The guest must listen: its
// port carries one connection in its life. The error wraps [ErrLost] if the
// guest did not answer.
func Dial(ctx context.Context, conn net.Conn, k Keys, o Options) (*Guest, error) {
	o.fill()
	config := &ssh.ClientConfig{
		User:              o.User,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(k.Signer)},
		HostKeyCallback:   ssh.FixedHostKey(k.HostPublic),
		HostKeyAlgorithms: []string{ssh.KeyAlgoED25519},
	}
	// ClientConfig.Timeout does not cover the handshake.
	conn.SetDeadline(time.Now().Add(o.Handshake))
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	c, channels, requests, err := ssh.NewClientConn(conn, "guest", config)
	if !stop() && err == nil {
		c.Close()
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("log in to the guest: %w", handshakeError(ctx, err, o))
	}
	conn.SetDeadline(time.Time{})

	g := &Guest{client: ssh.NewClient(c, channels, requests), opts: o, lost: make(chan struct{})}
	g.ended.Go(func() { g.lose(g.client.Wait()) })
	g.ended.Go(g.keepAlive)
	return g, nil
}

// handshakeError says which of three things happened: our context ended, the
// guest is not there, or it is there and something is wrong with the keys.
func handshakeError(ctx context.Context, err error, o Options) error {
	var broken net.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &broken) && broken.Timeout():
		return lostError(fmt.Errorf("no handshake within %v", o.Handshake))
	case errors.Is(err, io.EOF), errors.As(err, &broken):
		return lostError(err)
	}
	return err
}

func lostError(cause error) error {
	err := ErrLost
	if cause != nil {
		err = fmt.Errorf("%w: %w", ErrLost, cause)
	}
	return &fault.Error{Kind: fault.Machinery, Reason: "ssh-lost", Err: err}
}

// Lost is closed when the guest no longer answers, and after Close.
func (g *Guest) Lost() <-chan struct{} { return g.lost }

// Err says why the guest is lost; nil while it answers. After Close it is
// [net.ErrClosed].
func (g *Guest) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// Close ends the connection, and with it all that runs over it. What was
// started in the guest may go on.
func (g *Guest) Close() error {
	g.lose(net.ErrClosed)
	g.ended.Wait()
	return nil
}

// lose ends the connection for the first reason given.
func (g *Guest) lose(cause error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return
	}
	if g.err = cause; cause != net.ErrClosed {
		g.err = lostError(cause)
	}
	close(g.lost)
	g.client.Close()
}

// keepAlive asks for a sign of life again and again. Any answer will do, also
// a refusal.
func (g *Guest) keepAlive() {
	for {
		select {
		case <-g.lost:
			return
		case <-time.After(g.opts.Keepalive):
		}
		answer := make(chan error, 1)
		go func() {
			// Returns at the latest when the connection is closed.
			_, _, err := g.client.SendRequest("keepalive@openssh.com", true, nil)
			answer <- err
		}()
		silence := time.NewTimer(g.opts.Silence)
		select {
		case err := <-answer:
			if err != nil {
				g.lose(err)
			}
		case <-silence.C:
			g.lose(fmt.Errorf("no answer to a keepalive for %v", g.opts.Silence))
		case <-g.lost:
		}
		silence.Stop()
	}
}
