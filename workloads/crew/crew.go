// Package crew starts several processes of this program that are to begin at the
// same time, where a published program forks.
//
// A fork is at work at once; a program that is started anew is not, and an
// emulated guest takes a good part of a second for eighteen of them. So each
// member says when it is ready, and all wait at a gate until the last one is.
//
// It promises that all members pass the gate together, that a member that fails
// is named with its error, and that all end with the process that started them.
// A member that is to stop gets SIGINT and ends its round: what it does in the
// kernel is finished, and counted.
package crew

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"spindle/internal/proc"
)

// Member is one process: this program with these arguments.
type Member struct {
	Name string // in errors
	Args []string
	Dir  string // working directory; "" is ours
}

// Crew is a number of processes at the gate, or past it.
type Crew struct {
	names []string
	procs []*proc.Process
	gate  *os.File // closed to let them pass
}

// The descriptors that a member has beside the usual three.
const (
	readyFD = 3
	gateFD  = 4
)

// Muster starts the members and returns when all are ready. self is how this
// program is started; all of them write to stdout. When ctx ends they are
// stopped.
func Muster(ctx context.Context, self []string, members []Member, stdout *os.File) (*Crew, error) {
	gate, open, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer gate.Close()
	ready, done, err := os.Pipe()
	if err != nil {
		open.Close()
		return nil, err
	}
	defer ready.Close()
	c := &Crew{gate: open}
	for _, m := range members {
		p, err := proc.Start(context.WithoutCancel(ctx), proc.Cmd{
			Path: self[0], Args: append(append([]string(nil), self[1:]...), m.Args...), Dir: m.Dir,
			Stdout: stdout, Stderr: os.Stderr, ExtraFiles: []*os.File{done, gate}, Unguarded: true,
		})
		if err != nil {
			done.Close()
			c.kill()
			return nil, fmt.Errorf("start %s: %w", m.Name, err)
		}
		c.names, c.procs = append(c.names, m.Name), append(c.procs, p)
	}
	done.Close()
	// Each writes one byte; the end comes early if one dies before that.
	n, err := io.Copy(io.Discard, ready)
	if err == nil && int(n) != len(members) {
		err = c.casualty(int(n))
	}
	if err != nil {
		c.kill()
		return nil, err
	}
	context.AfterFunc(ctx, c.Stop)
	return c, nil
}

// Go opens the gate.
func (c *Crew) Go() { c.gate.Close() }

// Stop asks the members to end.
func (c *Crew) Stop() { c.signal(syscall.SIGINT) }

func (c *Crew) signal(s syscall.Signal) {
	for _, p := range c.procs {
		select {
		case <-p.Done():
		default:
			p.Signal(s)
		}
	}
}

// casualty says why only n members are ready: the first that ended tells. Its
// end is seen a moment after its descriptors were closed.
func (c *Crew) casualty(n int) error {
	ended := make(chan error, len(c.procs))
	for i, p := range c.procs {
		go func() {
			if err := p.Wait(); err != nil {
				ended <- fmt.Errorf("%s: %w", c.names[i], err)
			}
		}()
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(time.Second):
		return fmt.Errorf("%d of %d processes came up", n, len(c.procs))
	}
}

func (c *Crew) kill() {
	c.gate.Close()
	for _, p := range c.procs {
		p.Kill()
		p.Wait()
	}
}

// Wait waits for all members and gives the errors of those that failed. One that
// fails stops the others: what they would go on measuring is something else.
func (c *Crew) Wait() error {
	failed := make(chan error, len(c.procs))
	for i, p := range c.procs {
		go func() {
			err := p.Wait()
			if err != nil {
				err = fmt.Errorf("%s: %w", c.names[i], err)
			}
			failed <- err
		}()
	}
	var errs []error
	for range c.procs {
		if err := <-failed; err != nil {
			errs = append(errs, err)
			c.Stop()
		}
	}
	return errors.Join(errs...)
}

// Ready says that this member is ready and returns when the gate opens.
func Ready() error {
	ready, gate := os.NewFile(readyFD, "ready"), os.NewFile(gateFD, "gate")
	defer gate.Close()
	_, err := ready.Write([]byte{1})
	if e := ready.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("say that it is ready: %w", err)
	}
	if _, err := io.Copy(io.Discard, gate); err != nil {
		return fmt.Errorf("wait at the gate: %w", err)
	}
	return nil
}
