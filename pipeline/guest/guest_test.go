package guest_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"spindle/internal/fault"
	"spindle/pipeline/guest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/crypto/ssh"
)

func TestNewKeys(t *testing.T) {
	seed := bytes.Repeat([]byte{1, 2, 3, 4}, 16) // two keys of 32 bytes
	a, err := guest.NewKeys(bytes.NewReader(seed))
	if err != nil {
		t.Fatal(err)
	}
	b, err := guest.NewKeys(bytes.NewReader(seed))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Authorized, b.Authorized) || !bytes.Equal(a.HostPublic.Marshal(), b.HostPublic.Marshal()) {
		t.Error("the same randomness gives other keys")
	}
	private, err := ssh.ParsePrivateKey(a.HostKey)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(private.PublicKey().Marshal(), a.HostPublic.Marshal()) {
		t.Error("the host key's halves do not fit")
	}
	if _, err := guest.NewKeys(bytes.NewReader(seed[:40])); err == nil {
		t.Error("keys from too little randomness")
	}
}

func TestDialFails(t *testing.T) {
	tests := map[string]struct {
		play func(t *testing.T, conn net.Conn, k guest.Keys)
		lost bool
		want string
	}{
		"silent guest": {func(*testing.T, net.Conn, guest.Keys) {}, true, "no handshake within 200ms"},
		"gone":         {func(t *testing.T, c net.Conn, k guest.Keys) { c.Close() }, true, "log in to the guest: ssh-lost: "},
		"other host key": {func(t *testing.T, c net.Conn, k guest.Keys) {
			k.HostKey = newKeys(t).HostKey
			(&server{t: t, conn: c}).serve(k)
		}, false, "host key mismatch"},
		"other login key": {func(t *testing.T, c net.Conn, k guest.Keys) {
			k.Authorized = newKeys(t).Authorized
			(&server{t: t, conn: c}).serve(k)
		}, false, "unable to authenticate"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			k := newKeys(t)
			ours, theirs := socketpair(t)
			go test.play(t, theirs, k)
			limit := time.Minute
			if test.lost {
				limit = 200 * time.Millisecond
			}
			_, err := guest.Dial(t.Context(), ours, k, guest.Options{Handshake: limit})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want an error with %q", err, test.want)
			}
			if errors.Is(err, guest.ErrLost) != test.lost {
				t.Errorf("%v: is ErrLost: %v, want %v", err, !test.lost, test.lost)
			}
			if _, err := ours.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
				t.Errorf("connection left open: write gives %v", err)
			}
		})
	}
}

func TestDialHonoursContext(t *testing.T) {
	ours, _ := socketpair(t)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
	if _, err := guest.Dial(ctx, ours, newKeys(t), guest.Options{}); !errors.Is(err, cause) {
		t.Errorf("got %v, want the context's cause", err)
	}
}

func TestRun(t *testing.T) {
	g, _ := start(t, guest.Options{})
	tests := []struct {
		command guest.Command
		want    guest.Result
		err     string // of Result.Err
	}{
		{command: guest.Command{Line: "echo a b"}, want: guest.Result{Stdout: []byte("a b\n")}},
		{command: guest.Command{Line: "cat", Stdin: strings.NewReader("in and out")}, want: guest.Result{Stdout: []byte("in and out")}},
		{command: guest.Command{Line: "fail 32 mount: wrong fs type"}, want: guest.Result{Stderr: []byte("mount: wrong fs type\n"), Status: 32},
			err: "fail 32 mount: wrong fs type: exit status 32: mount: wrong fs type"},
		{command: guest.Command{Line: "signalled"}, want: guest.Result{Status: -1, Signal: "KILL"}, err: "signalled: killed by SIGKILL"},
		{command: guest.Command{Line: "flood 17000000"}, want: guest.Result{Stdout: bytes.Repeat([]byte("x"), 16<<20), Dropped: 17000000 - 16<<20}},
		// A Stdin that never ends does not outlast the command.
		{command: guest.Command{Line: "echo x", Stdin: blocked{t.Context()}}, want: guest.Result{Stdout: []byte("x\n")}},
	}
	for _, test := range tests {
		t.Run(test.command.Line, func(t *testing.T) {
			r, err := g.Run(t.Context(), test.command)
			if err != nil {
				t.Fatal(err)
			}
			test.want.Line = test.command.Line
			if r.Elapsed <= 0 {
				t.Errorf("elapsed %v", r.Elapsed)
			}
			if diff := cmp.Diff(test.want, r, cmpopts.IgnoreFields(guest.Result{}, "Elapsed"), cmp.Comparer(bytes.Equal)); diff != "" {
				t.Errorf("result (-want +got):\n%.2000s", diff)
			}
			if e := r.Err(); (e == nil) != (test.err == "") || e != nil && e.Error() != test.err {
				t.Errorf("Err gives %v, want %q", e, test.err)
			}
		})
	}
}

// blocked is a reader that waits for the context's end.
type blocked struct{ ctx context.Context }

func (b blocked) Read([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, io.EOF
}

func TestRunEnds(t *testing.T) {
	t.Run("limit", func(t *testing.T) {
		g, s := start(t, guest.Options{})
		r, err := g.Run(t.Context(), guest.Command{Line: "forever", Limit: 200 * time.Millisecond})
		if !errors.Is(err, guest.ErrLimit) || !strings.Contains(err.Error(), "run forever: time limit reached: 200ms") {
			t.Errorf("got %v, want ErrLimit", err)
		}
		if string(r.Stdout) != "started\n" {
			t.Errorf("output until then: %q", r.Stdout)
		}
		if got := <-s.signal; got != "KILL" {
			t.Errorf("the guest got signal %q, want KILL", got)
		}
		// The guest itself is well.
		if _, err := g.Run(t.Context(), guest.Command{Line: "echo"}); err != nil {
			t.Error(err)
		}
	})
	t.Run("context", func(t *testing.T) {
		g, _ := start(t, guest.Options{})
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
		if _, err := g.Run(ctx, guest.Command{Line: "forever"}); !errors.Is(err, cause) {
			t.Errorf("got %v, want the context's cause", err)
		}
	})
	t.Run("lost", func(t *testing.T) {
		g, _ := start(t, guest.Options{})
		_, err := g.Run(t.Context(), guest.Command{Line: "vanish"})
		if !errors.Is(err, guest.ErrLost) || fault.Reason(err) != "ssh-lost" || fault.Of(err) != fault.Machinery {
			t.Errorf("got %v, want ErrLost as a fault of the machinery", err)
		}
		<-g.Lost()
		if _, err := g.Run(t.Context(), guest.Command{Line: "echo"}); !errors.Is(err, guest.ErrLost) {
			t.Errorf("later: got %v, want ErrLost", err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		g, _ := start(t, guest.Options{})
		time.AfterFunc(50*time.Millisecond, func() { g.Close() })
		if _, err := g.Run(t.Context(), guest.Command{Line: "forever"}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v, want net.ErrClosed", err)
		}
	})
}

func TestKeepalive(t *testing.T) {
	g, s := start(t, guest.Options{Keepalive: 10 * time.Millisecond, Silence: 300 * time.Millisecond})
	select {
	case <-g.Lost():
		t.Fatalf("an answering guest is lost: %v", g.Err())
	case <-time.After(500 * time.Millisecond):
	}
	close(s.frozen)
	_, err := g.Run(t.Context(), guest.Command{Line: "forever"})
	if !errors.Is(err, guest.ErrLost) || !strings.Contains(err.Error(), "no answer to a keepalive for 300ms") {
		t.Errorf("got %v, want ErrLost for a missed keepalive", err)
	}
	select {
	case <-g.Lost():
	default:
		t.Error("not lost")
	}
}

// A guest that reads nothing any more, as a hung one, holds up nothing.
func TestHungGuest(t *testing.T) {
	k := newKeys(t)
	ours, theirs := socketpair(t)
	stall := &stalled{Conn: theirs, on: make(chan struct{})}
	s := &server{t: t, conn: stall, signal: make(chan string, 1), frozen: make(chan struct{})}
	go s.serve(k)
	g, err := guest.Dial(t.Context(), ours, k, guest.Options{Keepalive: 10 * time.Millisecond, Silence: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	close(stall.on)
	if err := g.Write(t.Context(), "/nonexistent/x", make([]byte, 8<<20)); !errors.Is(err, guest.ErrLost) {
		t.Errorf("write: got %v, want ErrLost", err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// stalled is a connection that once on is closed never reads again.
type stalled struct {
	net.Conn
	on chan struct{}
}

func (s *stalled) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	select {
	case <-s.on:
		select {}
	default:
		return n, err
	}
}

func TestStart(t *testing.T) {
	g, _ := start(t, guest.Options{})
	s, err := g.Start(t.Context(), guest.Command{Line: "job", Limit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewScanner(s.Stdout)
	expect := func(want string) {
		t.Helper()
		if !out.Scan() || out.Text() != want {
			t.Fatalf("got %q, %v, want %q", out.Text(), out.Err(), want)
		}
	}
	expect("ready")
	if _, err := io.WriteString(s.Stdin, "go\n"); err != nil {
		t.Fatal(err)
	}
	expect(`got "go\n"`)
	expect("done")
	r, err := s.Wait()
	if err != nil || r.Err() != nil {
		t.Errorf("ended with %v, %v", err, r.Err())
	}

	s, err = g.Start(t.Context(), guest.Command{Line: "forever"})
	if err != nil {
		t.Fatal(err)
	}
	s.Kill()
	if _, err := s.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("killed: got %v", err)
	}
}

func TestAttach(t *testing.T) {
	g, s := start(t, guest.Options{})
	in, typed := io.Pipe()
	resize := make(chan guest.Size)
	var out bytes.Buffer
	go func() {
		resize <- guest.Size{Columns: 132, Rows: 50}
		resize <- guest.Size{Columns: 80, Rows: 25}
		for s.told() < 3 {
			time.Sleep(time.Millisecond)
		}
		io.WriteString(typed, "uname\n")
		typed.Close()
	}()
	_, err := g.Attach(t.Context(), guest.Terminal{In: in, Out: &out, Size: guest.Size{Columns: 100, Rows: 40}, Resize: resize})
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != "uname\n" {
		t.Errorf("shown: %q", out.String())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff([]string{"xterm 100x40", "132x50", "80x25"}, s.sizes); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
}
