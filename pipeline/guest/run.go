package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// ErrLimit is in the chain of the error of a command that did not end in its
// time. The guest itself may be well.
var ErrLimit = errors.New("time limit reached")

// mostOutput is how much of each stream is kept. fio's JSON is some 100 KB.
const mostOutput = 16 << 20

// Command is something to run in the guest.
type Command struct {
	Line  string        // for the guest's shell
	Stdin io.Reader     // nil for none; Start ignores it
	Limit time.Duration // 0 for none but the context's
}

// Result is how a command ended.
type Result struct {
	Line           string
	Stdout, Stderr []byte // the first 16 MiB of each
	Dropped        int64  // bytes of output beyond that
	Status         int    // exit status, -1 if a signal ended it
	Signal         string // without SIG, as SSH has it: "KILL"; "" for none
	Elapsed        time.Duration
}

// Err gives an error for a command that did not exit with status 0, with the
// last it wrote to standard error.
func (r Result) Err() error {
	end := fmt.Sprintf("exit status %d", r.Status)
	switch {
	case r.Signal != "":
		end = "killed by SIG" + r.Signal
	case r.Status == 0:
		return nil
	}
	if words := lastLines(r.Stderr, 5); words != "" {
		end += ": " + words
	}
	return fmt.Errorf("%s: %s", r.Line, end)
}

func lastLines(b []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Run runs a command to its end. The error is nil if it ended by itself,
// whatever its status. Else the Result has what was written until then.
func (g *Guest) Run(ctx context.Context, c Command) (Result, error) {
	s, err := g.Start(ctx, c)
	if err != nil {
		return Result{Line: c.Line, Status: -1}, err
	}
	go func() {
		// A goroutine of our own: with Session.Stdin a reader that never ends
		// would hold up Wait after the command's end.
		if c.Stdin != nil {
			io.Copy(s.Stdin, c.Stdin)
		}
		s.Stdin.Close()
	}()
	stdout, copied := &bounded{most: mostOutput}, make(chan struct{})
	go func() {
		defer close(copied)
		io.Copy(stdout, s.Stdout)
	}()
	r, err := s.Wait()
	if err == nil {
		select { // the exit status may be read before the last of the output
		case <-copied:
		case <-g.lost:
		}
	}
	var dropped int64
	r.Stdout, dropped = stdout.take()
	r.Dropped += dropped
	return r, err
}

// Session is a command that runs.
type Session struct {
	Stdin io.WriteCloser
	// Stdout must be read: a command whose output nobody takes stops after
	// 2 MiB.
	Stdout io.Reader

	guest   *Guest
	ssh     *ssh.Session
	line    string
	started time.Time
	ctx     context.Context // ends with the caller's, the limit, or Wait
	cancel  context.CancelFunc

	stderr *bounded
	ended  chan struct{}
	result Result
	err    error
}

// Start starts a command whose input and output the caller handles. Its
// context and limit hold until it ends; standard error is kept for the Result,
// standard output is not.
func (g *Guest) Start(ctx context.Context, c Command) (*Session, error) {
	return g.start(ctx, c, nil)
}

// start opens a session, lets prepare ask for more (a terminal), and runs the
// command, or a login shell if there is none.
func (g *Guest) start(ctx context.Context, c Command, prepare func(*ssh.Session) error) (_ *Session, err error) {
	s := &Session{
		guest: g, line: c.Line, ended: make(chan struct{}), stderr: &bounded{most: mostOutput},
	}
	if c.Limit > 0 {
		cause := fmt.Errorf("%w: %v", ErrLimit, c.Limit)
		s.ctx, s.cancel = context.WithTimeoutCause(ctx, c.Limit, cause)
	} else {
		s.ctx, s.cancel = context.WithCancel(ctx)
	}
	defer func() {
		if err != nil {
			s.cancel()
			err = fmt.Errorf("run %s: %w", s.title(), err)
		}
	}()
	s.ssh, err = await(s.ctx, g, g.client.NewSession, func(late *ssh.Session) { late.Close() })
	if err != nil {
		return nil, err
	}
	s.Stdin, _ = s.ssh.StdinPipe()   // these two fail
	s.Stdout, _ = s.ssh.StdoutPipe() // only after Start
	s.ssh.Stderr = s.stderr
	s.started = time.Now()
	_, err = await(s.ctx, g, func() (struct{}, error) {
		if prepare != nil {
			if err := prepare(s.ssh); err != nil {
				return struct{}{}, err
			}
		}
		if c.Line == "" {
			return struct{}{}, s.ssh.Shell()
		}
		return struct{}{}, s.ssh.Start(c.Line)
	}, func(struct{}) {})
	if err != nil {
		s.ssh.Close()
		return nil, err
	}
	go s.watch()
	return s, nil
}

func (s *Session) title() string {
	if s.line == "" {
		return "a shell"
	}
	return s.line
}

// await waits for an SSH call that knows no context. If it is not waited for
// to its end, its late result goes to discard.
func await[T any](ctx context.Context, g *Guest, call func() (T, error), discard func(T)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := call()
		done <- outcome{v, err}
	}()
	giveUp := func() {
		go func() {
			if o := <-done; o.err == nil {
				discard(o.value)
			}
		}()
	}
	var none T
	select {
	case o := <-done:
		if o.err != nil {
			return none, g.explain(ctx, o.err)
		}
		return o.value, nil
	case <-ctx.Done():
		giveUp()
		return none, context.Cause(ctx)
	case <-g.lost:
		giveUp()
		return none, g.Err()
	}
}

// explain gives the reason behind an error of the SSH library, which sees no
// more than a closed stream.
func (g *Guest) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var open *ssh.OpenChannelError
	if errors.As(err, &open) {
		return err
	}
	// The end of the connection shows here a moment before it does in Lost.
	select {
	case <-g.lost:
		return g.Err()
	case <-time.After(100 * time.Millisecond):
		return err
	}
}

// watch waits for the command's end, or brings it about.
func (s *Session) watch() {
	defer close(s.ended)
	defer s.cancel()
	wait := make(chan error, 1)
	go func() { wait <- s.ssh.Wait() }()
	var err error
	select {
	case err = <-wait:
	case <-s.ctx.Done():
		err = context.Cause(s.ctx)
		// Both in the background: a guest that hangs takes neither.
		go func() {
			s.ssh.Signal(ssh.SIGKILL)
			s.ssh.Close()
		}()
	case <-s.guest.lost:
		err = s.guest.Err()
	}
	s.result = Result{Line: s.line, Elapsed: time.Since(s.started)}
	var exit *ssh.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit):
		s.result.Status, s.result.Signal = exit.ExitStatus(), exit.Signal()
		if s.result.Signal != "" {
			s.result.Status = -1
		}
	default:
		s.result.Status = -1
		s.err = fmt.Errorf("run %s: %w", s.title(), s.guest.explain(s.ctx, err))
	}
}

// Wait waits for the command's end. The error is nil if it ended by itself,
// whatever its status.
func (s *Session) Wait() (Result, error) {
	<-s.ended
	r := s.result
	r.Stderr, r.Dropped = s.stderr.take()
	return r, s.err
}

// Kill ends the command. It does not wait.
func (s *Session) Kill() { s.cancel() }

// bounded keeps the first bytes of what is written to it and counts the rest.
type bounded struct {
	most int

	mu   sync.Mutex
	buf  bytes.Buffer
	rest int64
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	keep := min(len(p), b.most-b.buf.Len())
	b.buf.Write(p[:keep])
	b.rest += int64(len(p) - keep)
	return len(p), nil
}

func (b *bounded) take() ([]byte, int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.buf.Bytes()), b.rest
}
