package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"
)

func lockedGoroutine(f func()) {
	runtime.LockOSThread()
	f()
}

func sh(script string, args ...string) Cmd {
	return Cmd{Path: "sh", Args: append([]string{"-c", script, "sh"}, args...)}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	t.Setenv("PROC_TEST", "inherited")
	with := func(c Cmd, f func(*Cmd)) Cmd { f(&c); return c }
	for _, test := range []struct {
		name           string
		cmd            Cmd
		stdout, stderr string
		err            string // "" for none
	}{
		{"both outputs", sh("echo out; echo err >&2"), "out\n", "err\n", ""},
		{"arguments", Cmd{Path: "printf", Args: []string{"%s|", "a b", "", "$x"}}, "a b||$x|", "", ""},
		{"no input", Cmd{Path: "cat"}, "", "", ""},
		{"input", with(Cmd{Path: "cat"}, func(c *Cmd) { c.Stdin = strings.NewReader("text") }), "text", "", ""},
		{"input not wanted", with(sh("true"), func(c *Cmd) { c.Stdin = strings.NewReader(strings.Repeat("x", 1<<20)) }), "", "", ""},
		{"input that blocks", with(sh("echo done"), func(c *Cmd) { r, _ := io.Pipe(); c.Stdin = r }), "done\n", "", ""},
		{"input that fails", with(Cmd{Path: "cat"}, func(c *Cmd) { c.Stdin = iotest.ErrReader(errors.New("disk on fire")) }), "", "", "cat: read its input: disk on fire"},
		{"directory", with(Cmd{Path: "pwd"}, func(c *Cmd) { c.Dir = dir }), dir + "\n", "", ""},
		{"environment", sh("echo $PROC_TEST"), "inherited\n", "", ""},
		{"given environment", with(sh("echo $PROC_TEST"), func(c *Cmd) { c.Env = []string{"PROC_TEST=given"} }), "given\n", "", ""},
		{"changed environment", with(sh(`echo "$A|$B|${C-unset}"`), func(c *Cmd) {
			c.Env, c.Setenv = []string{"A=1", "B=2", "C=3"}, []string{"B=x=y", "C", "D"}
		}), "1|x=y|unset\n", "", ""},
		{"extra file", with(sh("echo x >&3; echo ok"), func(c *Cmd) { c.ExtraFiles = []*os.File{file} }), "ok\n", "", ""},
		{"status", sh("exit 3"), "", "", "sh -c 'exit 3' sh: exit status 3"},
		{"status and words", sh("echo this; echo that >&2; exit 1"), "this\n", "that\n", "sh -c 'echo this; echo that >&2; exit 1' sh: exit status 1: that"},
		{"words on standard output", sh("echo this; exit 1"), "this\n", "", "sh -c 'echo this; exit 1' sh: exit status 1: this"},
		{"signal", sh("kill -SEGV $$"), "", "", "sh -c 'kill -SEGV $$' sh: killed by SIGSEGV"},
		{"signal of somebody else", sh("kill -KILL $$"), "", "", "sh -c 'kill -KILL $$' sh: killed by SIGKILL (out of memory? see dmesg)"},
		{"missing file", Cmd{Path: "/no/such"}, "", "", "such: fork/exec /no/such: no such file or directory"},
		{"missing program", Cmd{Path: "no-such-program"}, "", "", `find program no-such-program: not installed; run: spindle doctor --install (exec: "no-such-program": executable file not found in $PATH)`},
		{"terminal codes", sh(`printf '\033[31mred\n\n bad\n' >&2; exit 1`), "", "\x1b[31mred\n\n bad\n", "sh -c 'printf '\\''\\033[31mred\\n\\n bad\\n'\\'' >&2; exit 1' sh: exit status 1:\n\t[31mred\n\tbad"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := Run(t.Context(), test.cmd)
			if string(out.Stdout) != test.stdout || string(out.Stderr) != test.stderr {
				t.Errorf("output %q, %q; want %q, %q", out.Stdout, out.Stderr, test.stdout, test.stderr)
			}
			if got := fmt.Sprint(err); err == nil && test.err != "" || err != nil && got != test.err {
				t.Errorf("err = %v\nwant  %v", err, test.err)
			}
		})
	}
	if text, _ := os.ReadFile(file.Name()); string(text) != "x\n" {
		t.Errorf("extra file has %q", text)
	}
}

func TestErrorFields(t *testing.T) {
	_, err := Run(t.Context(), sh("exit 7"))
	var e *Error
	if !errors.As(err, &e) || e.ExitCode != 7 || e.Signal != 0 || e.Err != nil {
		t.Errorf("exit: %+v", e)
	}
	_, err = Run(t.Context(), sh("kill -TERM $$"))
	if !errors.As(err, &e) || e.ExitCode != -1 || e.Signal != syscall.SIGTERM {
		t.Errorf("signal: %+v", e)
	}
	_, err = Run(t.Context(), Cmd{Path: "/no/such"})
	if !errors.As(err, &e) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("start: %+v", e)
	}
	if _, err = LookPath("no-such-program"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("LookPath: %v", err)
	}
}

func TestOutputIsStreamedAndItsEndKept(t *testing.T) {
	var both bytes.Buffer
	c := sh(`i=0; while [ $i -lt 20000 ]; do echo "line $i"; i=$((i+1)); done; echo last >&2; exit 1`)
	c.Stdout, c.Stderr = &both, &both
	out, err := Run(t.Context(), c)
	if len(out.Stdout)+len(out.Stderr) != 0 {
		t.Error("streamed output was kept too")
	}
	if n := strings.Count(both.String(), "\n"); n != 20001 {
		t.Errorf("%d lines", n)
	}
	var e *Error
	if !errors.As(err, &e) || !strings.HasSuffix(e.Output, "line 19999\nlast\n") || len(e.Output) != tailBytes {
		t.Errorf("kept %d bytes, ending %q", len(e.Output), e.Output[max(0, len(e.Output)-30):])
	}
	if n := strings.Count(err.Error(), "\n"); n != 8 {
		t.Errorf("the message has %d lines:\n%v", n, err)
	}
}

func TestLongCommandsAreShortened(t *testing.T) {
	_, err := Run(t.Context(), sh("exit 1", strings.Repeat("é ", 200)))
	var e *Error
	if !errors.As(err, &e) || len(e.Cmd) < 600 {
		t.Fatalf("the whole command is not kept: %+v", e)
	}
	if n := len([]rune(err.Error())); n > 130 {
		t.Errorf("%d characters: %v", n, err)
	}
}

// What String gives must mean the same to a shell.
func TestQuote(t *testing.T) {
	args := []string{"", "a", "a b", "it's", "$HOME", "`id`", "a\nb", "*", "\\", `"`, "-x=1,y", "~", "é", "#", "!"}
	line := Cmd{Path: "printf", Args: append([]string{`%s\0`}, args...)}.String()
	out, err := Run(t.Context(), sh(line))
	if want := strings.Join(args, "\x00") + "\x00"; err != nil || string(out.Stdout) != want {
		t.Errorf("%s gives %q, want %q (%v)", line, out.Stdout, want, err)
	}
}

func TestCancelAsksFirst(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("budget spent")
	c := sh(`trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.01; done`)
	var out syncBuffer
	c.Stdout, c.Grace = &out, patience
	p, err := Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "ready", func() bool { return out.String() == "ready\n" })
	cancel(reason)
	if err := p.Wait(); !errors.Is(err, reason) {
		t.Errorf("err = %v", err)
	}
	if got := out.String(); got != "ready\nasked\n" {
		t.Errorf("said %q", got)
	}
}

func TestCancelKillsWhatDoesNotListen(t *testing.T) {
	for name, grace := range map[string]time.Duration{"after grace": 50 * time.Millisecond, "at once": -1} {
		t.Run(name, func(t *testing.T) {
			nap := sleeper()
			ctx, cancel := context.WithCancel(t.Context())
			c := sh(`trap '' TERM; setsid sleep $1 & while :; do sleep $1; done`, nap)
			c.Grace = grace
			p, err := Start(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "both sleep", func() bool { return len(running("sleep", nap)) == 2 })
			cancel()
			if err := p.Wait(); !errors.Is(err, context.Canceled) {
				t.Errorf("err = %v", err)
			}
			// Killed processes end on their own time, but nobody starts new ones.
			eventually(t, "all gone", func() bool { return len(running("sleep", nap)) == 0 })
		})
	}
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, sh("true")); !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	if _, _, err := TempDir(ctx, t.TempDir(), "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("TempDir: %v", err)
	}
}

// Descendants end with the program, in its group or out of it, and do not hold
// up its output.
func TestDescendantsEndWithTheProgram(t *testing.T) {
	nap := sleeper()
	out, err := Run(t.Context(), sh(`
		sleep $1 &
		env -i sleep $1 &
		setsid sleep $1 & while ! grep -q sleep /proc/$!/comm; do :; done
		echo done`, nap))
	if err != nil || string(out.Stdout) != "done\n" {
		t.Errorf("%q, %v", out.Stdout, err)
	}
	eventually(t, "all gone", func() bool { return len(running("sleep", nap)) == 0 })
}

// A descendant that did both, leave the session and empty its environment, is
// beyond us; the output that it holds open is given up, and the error says so.
func TestEscapedDescendantDoesNotHoldUpWait(t *testing.T) {
	t.Parallel()
	nap := sleeper()
	_, err := Run(context.Background(), sh(`env -i setsid sleep $1 & while ! grep -q sleep /proc/$!/comm; do :; done`, nap))
	if !errors.Is(err, exec.ErrWaitDelay) {
		t.Errorf("err = %v", err)
	}
	pids := running("sleep", nap)
	if len(pids) != 1 {
		t.Errorf("%d escaped, want 1: the package documentation is out of date", len(pids))
	}
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestKillAndSignalAfterTheEnd(t *testing.T) {
	p, err := Start(t.Context(), sh("exit 0"))
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	p.Kill()
	p.Signal(syscall.SIGTERM)
	if err := p.Wait(); err != nil {
		t.Error(err)
	}

	p, err = Start(t.Context(), Cmd{Path: "sleep", Args: []string{sleeper()}})
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	err = p.Wait()
	var e *Error
	if !errors.As(err, &e) || e.Signal != syscall.SIGKILL || strings.Contains(err.Error(), "memory") {
		t.Errorf("err = %v", err)
	}
}

// A descriptor that leaked into a child would keep the guardian's pipe or a
// lock alive after us. What we inherited ourselves may go on.
func TestChildrenGetNoDescriptorsOfOurs(t *testing.T) {
	dir, _, err := TempDir(t.Context(), t.TempDir(), "lock")
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", theGuard().pipe.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	out, err := Run(t.Context(), sh("for f in /proc/$$/fd/*; do readlink $f; done; true"))
	if err != nil || len(out.Stdout) == 0 {
		t.Fatalf("%q, %v", out.Stdout, err)
	}
	for _, ours := range []string{dir, pipe} {
		if strings.Contains(string(out.Stdout), ours) {
			t.Errorf("a child has %s:\n%s", ours, out.Stdout)
		}
	}
}

func TestTerminalProgramsStayInOurGroup(t *testing.T) {
	c := sh("cut -d' ' -f5 /proc/$$/stat")
	c.Terminal = true
	out, err := Run(t.Context(), c)
	if want := fmt.Sprintln(syscall.Getpgrp()); err != nil || string(out.Stdout) != want {
		t.Errorf("group %q, want %q (%v)", out.Stdout, want, err)
	}
}

func TestManyAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			dir, remove, err := TempDir(t.Context(), t.TempDir(), "many")
			if err != nil {
				t.Error(err)
				return
			}
			c := sh("echo $1; pwd", fmt.Sprint(i))
			c.Dir = dir
			out, err := Run(t.Context(), c)
			if want := fmt.Sprintf("%d\n%s\n", i, dir); err != nil || string(out.Stdout) != want {
				t.Errorf("%q, want %q (%v)", out.Stdout, want, err)
			}
			if err := remove(); err != nil || !gone(dir) {
				t.Error("remove:", err)
			}
		})
	}
	wg.Wait()
}

func TestLookPathFindsAdministratorsPrograms(t *testing.T) {
	t.Setenv("PATH", "/nonexistent")
	path, err := LookPath("ldconfig")
	if err != nil || !strings.HasSuffix(path, "/sbin/ldconfig") {
		t.Errorf("%q, %v", path, err)
	}
	if path, err := LookPath("../sbin/ldconfig"); err == nil {
		t.Errorf("a relative path was looked up: %q", path)
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		if _, err := Run(b.Context(), Cmd{Path: "true"}); err != nil {
			b.Fatal(err)
		}
	}
}
