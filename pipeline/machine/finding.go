package machine

import (
	"regexp"
	"strings"
)

// Finding is a line of the console that says that something went wrong in the
// kernel, whether or not the machine went on.
type Finding struct {
	Reason Reason // Panic, Oops, Hang, Warning or OutOfMemory
	Line   int    // in console.log, from 1
	Text   string // the line without its time stamp
}

// Bad says whether the finding speaks against the kernel: warnings and an
// out-of-memory kill do not by themselves.
func (f Finding) Bad() bool {
	return f.Reason == Panic || f.Reason == Oops || f.Reason == Hang
}

// sign is how the kernel words a mishap. The words are those of the sources
// named; most have not changed for ten years.
type sign struct {
	reason Reason
	words  string // anywhere in the line
}

// signs are tried in order: the first one that matches counts, so the special
// ones stand before the general ones.
var signs = []sign{
	{Panic, "Kernel panic - not syncing"}, // kernel/panic.c

	{Hang, "BUG: soft lockup - CPU#"},       // kernel/watchdog.c
	{Hang, "Watchdog detected hard LOCKUP"}, // kernel/watchdog.c
	{Hang, "BUG: workqueue lockup"},         // kernel/workqueue.c
	{Hang, "self-detected stall on CPU"},    // kernel/rcu/tree_stall.h
	{Hang, "detected stalls on CPUs/tasks"}, // kernel/rcu/tree_stall.h
	{Hang, "detected expedited stalls on"},  // kernel/rcu/tree_exp.h

	{Warning, "BUG: sleeping function called from invalid context"}, // kernel/sched/core.c
	{Warning, "WARNING: possible "},                                 // kernel/locking/lockdep.c
	{Warning, "WARNING: suspicious RCU usage"},                      // kernel/locking/lockdep.c
	{Warning, "INFO: possible "},                                    // lockdep's older wording
	{Warning, "BUG: MAX_LOCK"},                                      // lockdep ran out of room
	{Warning, "UBSAN: "},                                            // lib/ubsan.c

	{Oops, "BUG: "},          // arch/x86/mm/fault.c, mm/, KASAN, KFENCE, ...
	{Oops, "Oops: "},         // arch/x86/kernel/dumpstack.c
	{Oops, "kernel BUG at "}, // lib/bug.c

	{Warning, "WARNING: CPU: "}, // kernel/panic.c
	{Warning, "WARNING: "},      // the same from 6.18 on, without the CPU first

	{OutOfMemory, "Out of memory: Killed process "},       // mm/oom_kill.c
	{OutOfMemory, "Memory cgroup out of memory: Killed "}, // mm/oom_kill.c
}

// blocked is the hung task detector's line, kernel/hung_task.c:
// "INFO: task dd:233 blocked for more than 120 seconds." Newer kernels say
// what it is blocked on between the two words.
var blocked = regexp.MustCompile(`INFO: task .+ blocked .*for more than \d+ seconds`)

// trap is the first line of an oops that is none of the above: "invalid
// opcode: 0000 [#1] PREEMPT SMP" (arch/x86/kernel/dumpstack.c). The number in
// brackets tells it from a program's own trap, which the kernel logs too.
var trap = regexp.MustCompile(`: [0-9a-f]{4} \[#\d+\]`)

// find looks for a sign in a line without its time stamp.
func find(text string) (Reason, bool) {
	// What user space writes to the console starts like this; it is not the
	// kernel's word.
	if strings.HasPrefix(text, guestPrefix) {
		return "", false
	}
	if blocked.MatchString(text) {
		return Hang, true
	}
	for _, s := range signs {
		if i := strings.Index(text, s.words); i >= 0 && startsWord(text, i) {
			return s.reason, true
		}
	}
	if trap.MatchString(text) {
		return Oops, true
	}
	return "", false
}

// startsWord says whether text[i:] does not continue a word, so that "DEBUG: "
// is not taken for "BUG: ".
func startsWord(text string, i int) bool {
	if i == 0 {
		return true
	}
	c := text[i-1]
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_')
}

// stamp is what printk puts before a message: the time, and with
// CONFIG_PRINTK_CALLER the task or CPU.
var stamp = regexp.MustCompile(`^\[ *\d+\.\d{6}\](\[ *[TC]\d+\])? `)

func unstamped(line string) string {
	return line[len(stamp.FindString(line)):]
}

// What the guest's init says about itself.
const (
	guestPrefix = "spindle: "
	saysInit    = guestPrefix + "init"
	saysReady   = guestPrefix + "ready"
	saysSSHD    = guestPrefix + "sshd exited"
	saysFatal   = guestPrefix + "fatal: "
)
