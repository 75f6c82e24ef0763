package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"
)

// windowSize is how SSH tells the size of a terminal, in characters and pixels.
type windowSize struct{ Columns, Rows, Width, Height uint32 }

// pty is our side of a pseudo terminal (pty(7)) and the path of the program's.
type pty struct {
	*os.File
	other string
}

// newPty opens a pseudo terminal.
func newPty() (*pty, error) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	p := &pty{File: f}
	err = p.control(func(fd int) error {
		n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
		if err != nil {
			return err
		}
		p.other = fmt.Sprintf("/dev/pts/%d", n)
		return unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	})
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open terminal: %w", err)
	}
	return p, nil
}

// control calls f with the descriptor and leaves its mode as it is.
func (p *pty) control(f func(fd int) error) error {
	raw, err := p.SyscallConn()
	if err != nil {
		return err
	}
	if cerr := raw.Control(func(fd uintptr) { err = f(int(fd)) }); cerr != nil {
		return cerr
	}
	return err
}

func (p *pty) resize(w windowSize) error {
	return p.control(func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{
			Row: uint16(w.Rows), Col: uint16(w.Columns), Xpixel: uint16(w.Width), Ypixel: uint16(w.Height),
		})
	})
}

// openPty answers pty-req. The encoded terminal modes are not applied: the
// kernel's defaults are what a shell expects.
func (s *session) openPty(payload []byte) error {
	var m struct {
		Term                         string
		Columns, Rows, Width, Height uint32
		Modes                        string
	}
	if err := ssh.Unmarshal(payload, &m); err != nil {
		return err
	}
	if s.pty != nil || s.begun {
		return errors.New("pty-req: too late")
	}
	p, err := newPty()
	if err != nil {
		return err
	}
	if err := p.resize(windowSize{m.Columns, m.Rows, m.Width, m.Height}); err != nil {
		p.Close()
		return err
	}
	s.pty = p
	s.env = append(s.env, "TERM="+m.Term)
	return nil
}

// startOnPty runs a program as the leader of a session with the terminal.
func (s *session) startOnPty(cmd *exec.Cmd) error {
	other, err := os.OpenFile(s.pty.other, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer other.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = other, other, other
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.started(cmd)
	go func() {
		io.Copy(s.pty, s.ch)
		// The host sends no more: what a terminal does is end of file.
		s.pty.Write([]byte{4})
	}()
	drained := make(chan struct{})
	go func() {
		io.Copy(s.ch, s.pty) // ends with EIO when the last program closed it
		close(drained)
	}()
	s.follow = func() {
		cmd.Wait()
		select {
		case <-drained:
		case <-time.After(outputDelay):
		}
		s.ended(cmd)
	}
	return nil
}
