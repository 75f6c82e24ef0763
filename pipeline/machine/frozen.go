package machine

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

// frozenLook is how often it is looked whether QEMU was stopped by a signal. A
// shorter stop than that can go unseen, and is no longer than what a busy host
// does to a guest.
const frozenLook = 200 * time.Millisecond

// watchFrozen ends the machine when somebody stops QEMU's process: the guest's
// clock goes on meanwhile, and what it measures then is not its kernel. The
// other threads of a busy host only wait; they are never in this state.
func (m *Machine) watchFrozen() {
	pid := m.process.Pid()
	if pid == 0 {
		return // libvirt's, which is asked for by events
	}
	tick := time.NewTicker(frozenLook)
	defer tick.Stop()
	for {
		select {
		case <-m.process.Done():
			return
		case <-tick.C:
			if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && isStopped(stat) {
				m.judge(verdict{reason: Paused, detail: "QEMU's process was stopped by a signal", hint: pausedHint})
			}
		}
	}
}

const pausedHint = "leave the guest's process alone while it is measured"

// isStopped says whether a process is, from its line in /proc/PID/stat: the state
// stands behind its name, which is in parentheses and may hold any other.
func isStopped(stat []byte) bool {
	i := bytes.LastIndexByte(stat, ')')
	return i >= 0 && len(stat) > i+2 && (stat[i+2] == 'T' || stat[i+2] == 't')
}
