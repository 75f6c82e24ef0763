package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// MarkName is the environment variable that marks our children. Its value is
// a random number for this process, a dot, and the number of the child.
const MarkName = "SPINDLE_GUARD"

// unmarked gives env without a mark.
func unmarked(env []string) []string { return without(env, MarkName) }

// without gives a copy of env that lacks a variable.
func without(env []string, name string) []string {
	out := make([]string, 0, len(env)+1)
	for _, e := range env {
		if key, _, _ := strings.Cut(e, "="); key != name {
			out = append(out, e)
		}
	}
	return out
}

// environ gives the environment that c asks for, without a mark.
func (c Cmd) environ() []string {
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	env = unmarked(env)
	for _, e := range c.Setenv {
		name, _, set := strings.Cut(e, "=")
		env = without(env, name)
		if set {
			env = append(env, e)
		}
	}
	return env
}

// killMarked kills every process that carries the mark, until two looks in a
// row find none: a process may fork between being found and being killed.
//
// A descendant started no earlier than the child did, at since. The environment
// of older processes is not read: it is most of them, and to read it takes a
// lock (mmap_lock) that a process hung in the kernel may hold for ever, which is
// what happens in the guests that we are made for.
func killMarked(mark string, since uint64) {
	entry := []byte("\x00" + mark + "\x00")
	for looks, quiet := 0, 0; quiet < 2 && looks < 100; looks++ {
		if !killOnce(entry, since) {
			quiet++
			continue
		}
		quiet = 0
		time.Sleep(5 * time.Millisecond)
	}
}

func killOnce(entry []byte, since uint64) (found bool) {
	dir, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		if start, err := startTime(pid); err != nil || start < since {
			continue
		}
		env, err := os.ReadFile("/proc/" + name + "/environ")
		if err != nil || !bytes.Contains(append([]byte{0}, env...), entry) {
			continue
		}
		found = true
		syscall.Kill(pid, syscall.SIGKILL)
	}
	return found
}

// startTime gives field 22 of /proc/PID/stat: clock ticks from boot to the
// start of the process. The command in field 2 may hold blanks and brackets.
func startTime(pid int) (uint64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return 0, fmt.Errorf("read /proc/%d/stat: %d fields after the name, want 20", pid, len(fields))
	}
	return strconv.ParseUint(fields[19], 10, 64)
}
