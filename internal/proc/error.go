package proc

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Error tells how a program failed.
type Error struct {
	Cmd      string         // the whole command line, quoted for a shell
	Output   string         // the end of standard error, or of standard output if that was empty
	ExitCode int            // -1 if it did not start or was killed
	Signal   syscall.Signal // what killed it, or 0
	Err      error          // the cause where it is not the program's own: a cancelled context, a failed start

	asked bool // we sent the SIGKILL
}

// Error gives "mkfs.ext4 -F disk: exit status 1: last lines of its output".
// A long command line is shortened; Cmd has all of it.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(short(e.Cmd))
	switch {
	case e.Err != nil:
		fmt.Fprintf(&b, ": %v", e.Err)
	case e.Signal != 0:
		fmt.Fprintf(&b, ": killed by %s", unix.SignalName(e.Signal))
		if e.Signal == syscall.SIGKILL && !e.asked {
			b.WriteString(" (out of memory? see dmesg)")
		}
	default:
		fmt.Fprintf(&b, ": exit status %d", e.ExitCode)
	}
	switch lines := lastLines(e.Output, 8); len(lines) {
	case 0:
	case 1:
		b.WriteString(": " + lines[0])
	default:
		b.WriteString(":\n\t" + strings.Join(lines, "\n\t"))
	}
	return b.String()
}

// Unwrap gives Err.
func (e *Error) Unwrap() error { return e.Err }

// fill sorts out what Wait of os/exec said.
func (e *Error) fill(err error) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		e.Err = err
		return
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = status.Signal()
		return
	}
	e.ExitCode = exit.ExitCode()
}

// String gives the command line quoted for a shell, so that it can be run by
// hand. Directory and environment are not in it.
func (c Cmd) String() string {
	words := []string{quote(c.Path)}
	for _, a := range c.Args {
		words = append(words, quote(a))
	}
	return strings.Join(words, " ")
}

func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./,:=+@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// short gives a command line as a message names it: the program without its
// directory, and at most about 100 characters, on one line.
func short(cmd string) string {
	program, args, _ := strings.Cut(cmd, " ")
	s := strings.Join(strings.Fields(filepath.Base(program)+" "+args), " ")
	if r := []rune(s); len(r) > 100 {
		s = string(r[:97]) + "..."
	}
	return s
}
