package guest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/crypto/ssh"
	"golang.org/x/term"
)

// Size is the size of a terminal, in characters.
type Size struct{ Columns, Rows int }

// Terminal is the person's side of a login shell.
type Terminal struct {
	In     io.Reader   // what is typed, from a terminal in raw mode
	Out    io.Writer   // what the guest shows
	Type   string      // TERM; "" means xterm
	Size   Size        // now
	Resize <-chan Size // later; may be nil
	Line   string      // what runs on it; "" is a login shell
}

// Shell gives whoever sits at in and out a login shell in the guest, in a
// directory ("" is the login's own). If in is a terminal it is in raw mode
// meanwhile, and changes of its size are passed on; if not, the shell reads in to
// its end and has no terminal. The result says how the shell ended.
func (g *Guest) Shell(ctx context.Context, in *os.File, out io.Writer, dir string) (Result, error) {
	line := ""
	if dir != "" {
		line = "cd '" + strings.ReplaceAll(dir, "'", `'\''`) + "'; if [ -x /bin/bash ]; then exec /bin/bash -l; fi; exec /bin/sh -l"
	}
	fd := int(in.Fd())
	if !term.IsTerminal(fd) {
		s, err := g.Start(ctx, Command{Line: line})
		if err != nil {
			return Result{}, err
		}
		return s.attach(in, out, nil)
	}
	size := func() Size {
		columns, rows, err := term.GetSize(fd)
		if err != nil {
			return Size{80, 24}
		}
		return Size{columns, rows}
	}
	before, err := term.MakeRaw(fd)
	if err != nil {
		return Result{}, fmt.Errorf("put the terminal into raw mode: %w", err)
	}
	defer term.Restore(fd, before)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGWINCH)
	defer signal.Stop(changes)
	resize := make(chan Size)
	go func() {
		for {
			select {
			case <-changes:
			case <-ctx.Done():
				return
			}
			select {
			case resize <- size():
			case <-ctx.Done():
				return
			}
		}
	}()
	return g.Attach(ctx, Terminal{In: in, Out: out, Size: size(), Resize: resize, Line: line})
}

// Attach runs a shell, or another program, on a terminal until it ends. The
// error is nil whatever status it exits with: the result has that. One more
// read of t.In may be under way then.
func (g *Guest) Attach(ctx context.Context, t Terminal) (Result, error) {
	if t.Type == "" {
		t.Type = "xterm"
	}
	s, err := g.start(ctx, Command{Line: t.Line}, func(s *ssh.Session) error {
		if err := s.RequestPty(t.Type, t.Size.Rows, t.Size.Columns, ssh.TerminalModes{}); err != nil {
			return fmt.Errorf("ask for a terminal: %w", err)
		}
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	return s.attach(t.In, t.Out, t.Resize)
}

// attach connects a shell to the outside until it ends.
func (s *Session) attach(in io.Reader, out io.Writer, resize <-chan Size) (Result, error) {
	go func() {
		io.Copy(s.Stdin, in)
		s.Stdin.Close()
	}()
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		io.Copy(out, s.Stdout)
	}()
	go func() {
		for {
			select {
			case size, ok := <-resize:
				if !ok {
					return
				}
				s.ssh.WindowChange(size.Rows, size.Columns)
			case <-s.ended:
				return
			}
		}
	}()
	r, err := s.Wait()
	if err != nil {
		return r, err
	}
	select {
	case <-shown:
	case <-s.guest.lost:
	}
	out.Write(r.Stderr) // of a shell without a terminal
	return r, nil
}
