package proc

import (
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// guardScript is run by /bin/sh and reads lines, one registration each:
//
//	+pg PGID STARTTIME   a process group and when its leader started (field 22 of /proc/PID/stat)
//	+mnt PATH            a mount point
//	+dir PATH            a directory to remove
//	-...                 the same line with a minus takes it back
//
// A line is one write of less than PIPE_BUF bytes, so it is there wholly or
// not at all.
//
//go:embed guard.sh
var guardScript string

// longestPath keeps a line below PIPE_BUF (4096).
const longestPath = 4000

// guard is our end of the guardian.
type guard struct {
	token    string // the part of the mark that all our children share
	children atomic.Int64

	mu   sync.Mutex
	pipe *os.File // nil: not running
	held []holding
}

// holding is one registration.
type holding struct {
	line string
	keep any // kept reachable as long as the registration: a lock file must not be finalized
}

// theGuard is the one guardian of this process: process-wide state, because
// what it guards against is the end of the process.
var theGuard = sync.OnceValue(func() *guard {
	token := make([]byte, 16)
	rand.Read(token) // never fails: it crashes the program instead
	return &guard{token: hex.EncodeToString(token)}
})

// hold registers a line without its sign. When it returns nil the guardian will
// act on it, whatever happens to us.
func (g *guard) hold(line string, keep any) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = append(g.held, holding{line, keep})
	if err := g.tell("+" + line); err != nil {
		g.held = g.held[:len(g.held)-1]
		return err
	}
	return nil
}

// ready makes sure that the guardian runs.
func (g *guard) ready() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe != nil {
		return nil
	}
	return g.tell("")
}

// release takes a registration back. The guardian has it before release
// returns, so that a process id may be reused from then on.
func (g *guard) release(line string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.held, func(h holding) bool { return h.line == line })
	if i < 0 {
		return
	}
	g.held = slices.Delete(g.held, i, i+1)
	if g.pipe != nil {
		// An error means that the guardian is gone; the next one is told only
		// what is held then.
		g.tell("-" + line)
	}
}

// tell writes one line. A guardian that somebody killed is replaced, and told
// all that is held, the line included if it adds something.
func (g *guard) tell(line string) error {
	if g.pipe != nil {
		if _, err := g.pipe.WriteString(line + "\n"); err == nil {
			return nil
		}
		g.pipe.Close()
		g.pipe = nil
	}
	if err := g.start(); err != nil {
		return fmt.Errorf("start guardian: %w", err)
	}
	for _, h := range g.held {
		if _, err := g.pipe.WriteString("+" + h.line + "\n"); err != nil {
			return fmt.Errorf("tell guardian: %w", err)
		}
	}
	return nil
}

// start runs the script. It gets /dev/null for its output, because whoever
// waits for our output to end must not wait for the guardian, and an
// environment without a mark, so that a spindle that runs below another one
// still clears up when the upper one kills it.
func (g *guard) start() error {
	r, w, err := os.Pipe() // both ends close on exec
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path:        "/bin/sh",
		Args:        []string{"sh", "-c", guardScript, "spindle-guard", "watch", g.token},
		Env:         unmarked(os.Environ()),
		Dir:         "/",
		Stdin:       r,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		w.Close()
		return err
	}
	go cmd.Wait() // only so that no zombie is left if it is killed
	g.pipe = w
	return nil
}

// Mounted registers a mount point that the caller has made or is about to make.
// It is unmounted lazily when this process dies. The caller unmounts it in the
// ordinary course, and calls release after that.
func Mounted(path string) (release func(), err error) {
	line, err := pathLine("mnt", path)
	if err != nil {
		return nil, err
	}
	if err := theGuard().hold(line, nil); err != nil {
		return nil, err
	}
	return func() { theGuard().release(line) }, nil
}

func pathLine(what, path string) (string, error) {
	path, err := filepath.Abs(path)
	switch {
	case err != nil:
		return "", err
	case path == "/":
		return "", errors.New("guard /: refused")
	case strings.Contains(path, "\n"):
		return "", fmt.Errorf("guard %q: a path with a line break", path)
	case len(path) > longestPath:
		return "", fmt.Errorf("guard %s...: path longer than %d bytes", path[:80], longestPath)
	}
	return what + " " + path, nil
}
