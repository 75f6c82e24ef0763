package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// holdOpen is how long we go on reading a program's output after it and its
// descendants were killed. Only a process that escaped can keep it open.
const holdOpen = 2 * time.Second

// Process is a program that was started.
type Process struct {
	name   string // command line
	cmd    *exec.Cmd
	mark   string // NAME=value in its environment
	start  uint64 // when it started, in clock ticks since boot
	group  string // the guardian's line; "" if it has no group of its own
	stdout *tail
	stderr *tail
	stdin  chan error // result of feeding a Stdin that is no file, or nil

	mu     sync.Mutex
	killed bool // by us
	ended  bool // it ended; its id may be reused

	done chan struct{}
	err  error // valid after done
}

// Start starts a program. When ctx is cancelled, its process group gets SIGTERM
// and after c.Grace SIGKILL. The error is an [*Error] unless the program could
// not be found.
func Start(ctx context.Context, c Cmd) (*Process, error) {
	fail := func(err error) (*Process, error) {
		return nil, &Error{Cmd: c.String(), ExitCode: -1, Err: err}
	}
	if ctx.Err() != nil {
		return fail(context.Cause(ctx))
	}
	path := c.Path
	if !strings.Contains(path, "/") {
		var err error
		if path, err = LookPath(path); err != nil {
			return nil, err
		}
	}
	g := theGuard()
	p := &Process{
		name: c.String(),
		mark: fmt.Sprintf("%s=%s.%d", MarkName, g.token, g.children.Add(1)),
		done: make(chan struct{}),
	}
	p.cmd = &exec.Cmd{
		Path:       path,
		Args:       append([]string{c.Path}, c.Args...),
		Dir:        c.Dir,
		Env:        append(c.environ(), p.mark),
		ExtraFiles: c.ExtraFiles,
		WaitDelay:  holdOpen,
		SysProcAttr: &syscall.SysProcAttr{
			Setpgid:   !c.Terminal,
			Pdeathsig: syscall.SIGKILL,
		},
	}
	p.output(c)
	feed, err := p.input(c.Stdin)
	if err != nil {
		return fail(err)
	}
	// The guardian runs before the first child does, so that a child whose
	// group it was not yet told of is still found by its mark.
	if !c.Unguarded {
		err = g.ready()
	}
	if err != nil {
		feed(false)
		return fail(err)
	}
	if err := launch(p.cmd); err != nil {
		feed(false)
		return fail(err)
	}
	feed(true)
	if err := p.register(g, c.Unguarded); err != nil {
		p.Kill()
		p.reap(ctx)
		return fail(err)
	}
	grace := c.Grace
	if grace == 0 {
		grace = DefaultGrace
	}
	go p.watch(ctx, grace)
	go p.reap(ctx)
	return p, nil
}

// register tells the guardian of the program's group. Not even a program that
// has ended already is reaped before reap runs, so the group is still its own.
func (p *Process) register(g *guard, unguarded bool) (err error) {
	if p.start, err = startTime(p.Pid()); err != nil {
		return err
	}
	if !p.cmd.SysProcAttr.Setpgid {
		return nil
	}
	if unguarded {
		return nil
	}
	p.group = fmt.Sprintf("pg %d %d", p.Pid(), p.start)
	return g.hold(p.group, nil)
}

// output sets up where the program writes.
func (p *Process) output(c Cmd) {
	tee := func(w io.Writer) (io.Writer, *tail) {
		if f, ok := w.(*os.File); ok {
			return f, nil
		}
		t := &tail{w: w}
		return t, t
	}
	p.cmd.Stdout, p.stdout = tee(c.Stdout)
	if c.Stdout != nil && same(c.Stdout, c.Stderr) {
		// One writer for both must see one write at a time; os/exec sees to
		// that when it gets one value twice.
		p.cmd.Stderr, p.stderr = p.cmd.Stdout, p.stdout
		return
	}
	p.cmd.Stderr, p.stderr = tee(c.Stderr)
}

// same compares writers, of which some cannot be compared.
func same(a, b io.Writer) (equal bool) {
	defer func() { recover() }()
	return a == b
}

// input sets up what the program reads. The function it gives must be called
// once, and told whether the program started. A reader that blocks for ever
// does not hold up Wait: os/exec would wait for it.
func (p *Process) input(r io.Reader) (feed func(started bool), err error) {
	if r == nil {
		return func(bool) {}, nil
	}
	if f, ok := r.(*os.File); ok {
		p.cmd.Stdin = f
		return func(bool) {}, nil
	}
	ours, theirs, err := pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdin = theirs
	p.stdin = make(chan error, 1)
	return func(started bool) {
		theirs.Close()
		if !started {
			ours.Close()
			return
		}
		go func() {
			_, err := io.Copy(ours, r)
			if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
				err = nil // the program did not want all of it
			}
			p.stdin <- err
			ours.Close()
		}()
		go func() {
			<-p.done
			ours.Close()
		}()
	}, nil
}

func pipe() (w, r *os.File, err error) {
	r, w, err = os.Pipe()
	return w, r, err
}

// watch ends the program when ctx is cancelled.
func (p *Process) watch(ctx context.Context, grace time.Duration) {
	select {
	case <-p.done:
		return
	case <-ctx.Done():
	}
	if grace > 0 {
		p.Signal(syscall.SIGTERM)
		select {
		case <-p.done:
			return
		case <-time.After(grace):
		}
	}
	p.Kill()
}

// reap waits for the program, ends what it left, and says what came of it.
func (p *Process) reap(ctx context.Context) {
	// WNOWAIT leaves a zombie, whose id is not reused: until it is reaped,
	// signals to the group and the guardian's notes cannot hit a stranger.
	for unix.Waitid(unix.P_PID, p.Pid(), nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	p.mu.Lock()
	p.signal(syscall.SIGKILL) // what is left of the group
	p.ended = true
	killed := p.killed
	p.mu.Unlock()
	if p.group != "" {
		theGuard().release(p.group)
	}
	killMarked(p.mark, p.start)

	err := p.cmd.Wait()
	if p.stdin != nil && err == nil {
		select {
		case err = <-p.stdin:
			if err != nil {
				err = fmt.Errorf("read its input: %w", err)
			}
		default:
		}
	}
	if err != nil || ctx.Err() != nil {
		e := &Error{Cmd: p.name, Output: p.Tail(), ExitCode: -1, asked: killed}
		if err != nil {
			e.fill(err)
		}
		if ctx.Err() != nil {
			e.Err = context.Cause(ctx)
		}
		p.err = e
	}
	close(p.done)
}

// Pid gives the process id, which is also that of its process group.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the program has ended and its descendants with it.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end. It gives nil if the program exited with status 0, else
// an [*Error]; after a cancelled context always the latter, with the context's
// cause in its chain. It may be called any number of times.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// Tail gives the end of what the program wrote so far: of standard error, or of
// standard output if that is empty.
func (p *Process) Tail() string {
	if s := p.stderr.String(); strings.TrimSpace(s) != "" {
		return s
	}
	return p.stdout.String()
}

// Signal sends a signal to the program's process group. After the end it does
// nothing.
func (p *Process) Signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.killed = p.killed || s == syscall.SIGKILL
		p.signal(s)
	}
}

func (p *Process) signal(s syscall.Signal) {
	id := p.Pid()
	if p.cmd.SysProcAttr.Setpgid {
		id = -id
	}
	syscall.Kill(id, s)
}

// Kill kills the program and its descendants at once. It does not wait.
func (p *Process) Kill() { p.Signal(syscall.SIGKILL) }
