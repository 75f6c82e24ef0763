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
	// is looked at.
	guardEvery = 100 * time.Millisecond
	// spinTime is how long a program may compute without a word to the guest's
	// kernel. It is time on a CPU, so that a host which is busy, or stands still,
	// does not make a program look as if it would never stop.
	spinTime = 500 * time.Millisecond
	// A program that was pushed on, and computes on, need not be waited for as
	// long again: what does not come out the same does so already, and an endless
	// loop should come to its limit. So many looks after a push are soon.
	againEvery = 10 * time.Millisecond
	againTime  = 20 * time.Millisecond
	soonLooks  = 100
)

// guard watches a guest that says nothing while its clock stands still.
//
// A program that computes without a system call would do so for ever: the clock
// ticks when the kernel says so, and the kernel does not run. It is interrupted
// then, which the kernel takes for 100 ms of computing. A kernel that computes
// for ever cannot be helped.
type guard struct {
	quiet      bool
	quietSince time.Duration // what the guest's kernel had computed when it was last heard
	still      standing      // since when only a program computes
	soon       int           // looks that are still soon
}

// standing is a state of the guest that a program which computes does not
// change, but for the program's own time.
type standing struct {
	now      time.Duration // the guest's clock
	kernel   time.Duration // on a CPU
	programs map[int]time.Duration
}

// spoke says that the guest was heard.
func (g *guard) spoke() { g.quiet = false }

// patience is how long the guest may be silent before it is looked at.
func (g *guard) patience() time.Duration {
	if g.soon > 0 {
		return againEvery
	}
	return guardEvery
}

// look is called when the guest was silent for as long as [guard.patience].
func (g *guard) look(l *loop) error {
	if l.cal == nil || l.cal.Waiting() {
		return nil // it boots, or it is about to end
	}
	s := standing{l.cal.Now(), onCPU(l.pid), map[int]time.Duration{}}
	for _, p := range children(l.pid) {
		s.programs[p] = onCPU(p)
	}
	enough := spinTime
	if g.soon > 0 {
		g.soon--
		enough = againTime
	}
	used, first := cpuTime(l.pid), !g.quiet
	if first {
		g.quiet, g.quietSince = true, used
	}
	if first || s.now != g.still.now || s.kernel != g.still.kernel {
		g.still = s
	} else if p, ok := longest(g.still.programs, s.programs, enough); ok {
		l.spins++
		g.quiet, g.soon = false, soonLooks
		return unix.Kill(p, unix.SIGXCPU)
	}
	if used-g.quietSince > l.stall {
		return errStall
	}
	return nil
}

// longest gives the program that was on a CPU for at least so long between two
// looks, and longer than any other.
func longest(before, after map[int]time.Duration, least time.Duration) (program int, ok bool) {
	for p, t := range after {
		if was, there := before[p]; there && t-was >= least {
			program, ok, least = p, true, t-was
		}
	}
	return program, ok
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

// onCPU is how long a process was on a CPU: of its main thread, which is the only
// one that a guest's kernel and programs have.
func onCPU(pid int) time.Duration {
	ran, _ := scheduled(pid)
	return ran
}

// scheduled is how long a thread ran, and how long it was ready to and had no CPU;
// 0 of one that is gone (Documentation/scheduler/sched-stats.rst).
func scheduled(tid int) (ran, waited time.Duration) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", tid))
	if err != nil {
		return 0, 0
	}
	fmt.Sscan(string(text), &ran, &waited) // nanoseconds, both
	return ran, waited
}

// cpuTime is what all threads of a process have computed, in clock ticks of
// 10 ms (proc_pid_stat(5)).
func cpuTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}
