package uml

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// guardEvery is how long a guest may be silent, in the host's time, before it
	// is looked at. A step of a guest takes some microseconds; a loaded host
	// makes it ten times as long.
	guardEvery = 500 * time.Millisecond
	// looks make sure that what was seen is no moment between two steps.
	looks     = 5
	lookPause = 10 * time.Millisecond
	// A program that was pushed on, and computes on, need not be waited for as
	// long again: what does not come out the same does so already, and an endless
	// loop should come to its limit. So many looks after a push are soon.
	guardAgain = 10 * time.Millisecond
	againPause = time.Millisecond
	soonLooks  = 50
)

// guard watches a guest that says nothing while its clock stands still.
//
// A program that computes without a system call would do so for ever: the clock
// ticks when the kernel says so, and the kernel does not run. It is interrupted
// then, which the kernel takes for 100 ms of computing. A kernel that computes
// for ever cannot be helped.
type guard struct {
	quietSince time.Duration // CPU time of the guest when it was last heard
	quiet      bool
	soon       int // looks that are still soon
}

// spoke says that the guest was heard.
func (g *guard) spoke() { g.quiet = false }

// patience is how long the guest may be silent before it is looked at.
func (g *guard) patience() time.Duration {
	if g.soon > 0 {
		return guardAgain
	}
	return guardEvery
}

// look is called when the guest was silent for as long as [guard.patience].
func (g *guard) look(l *loop) error {
	if l.cal == nil || l.cal.Waiting() {
		return nil // it boots, or it is about to end
	}
	// Within the time that it may run through by itself a guest says nothing.
	if l.cal.Now() > l.limit {
		return errLimit
	}
	used := cpuTime(l.pid)
	if !g.quiet {
		g.quiet, g.quietSince = true, used
	}
	pause := lookPause
	if g.soon > 0 {
		g.soon--
		pause = againPause
	}
	before := l.cal.Now()
	program, ok := spinning(l.pid, pause)
	if ok && l.cal.Now() == before {
		l.spins++
		g.quiet, g.soon = false, soonLooks
		return unix.Kill(program, unix.SIGXCPU)
	}
	if used-g.quietSince > l.stall {
		return errStall
	}
	return nil
}

// spinning gives the process of a guest's program that computes while the
// guest's kernel waits for it.
func spinning(pid int, pause time.Duration) (program int, ok bool) {
	for range looks {
		if state(pid) == 'R' {
			return 0, false
		}
		running := 0
		for _, child := range children(pid) {
			if state(child) == 'R' {
				running = child
			}
		}
		if running == 0 || program != 0 && running != program {
			return 0, false
		}
		program = running
		time.Sleep(pause)
	}
	return program, true
}

// children gives the processes in which a guest's programs run.
func children(pid int) (list []int) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "task", strconv.Itoa(pid), "children"))
	if err != nil {
		return nil
	}
	for _, word := range strings.Fields(string(text)) {
		if n, err := strconv.Atoi(word); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// stat gives the fields of /proc/PID/stat from the state on (proc_pid_stat(5)).
func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.Fields(rest)
}

func state(pid int) byte {
	if f := stat(pid); len(f) > 0 {
		return f[0][0]
	}
	return 0
}

// cpuTime is what a process has computed, in clock ticks of 10 ms.
func cpuTime(pid int) time.Duration {
	f := stat(pid)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}
