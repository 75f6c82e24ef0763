package machine

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// cpuTime gives how long the guest's CPUs, all together, ran on the host and
// how long they waited for a CPU of the host, from /proc/PID/task/TID/schedstat
// (Documentation/scheduler/sched-stats.rst). Where that cannot be read both are
// 0.
func (m *Machine) cpuTime(ctx context.Context) (used, waited time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	var cpus []struct {
		ThreadID int `json:"thread-id"`
	}
	if m.monitor.Execute(ctx, "query-cpus-fast", nil, &cpus) != nil {
		return 0, 0
	}
	for _, c := range cpus {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", m.process.Pid(), c.ThreadID))
		if err != nil {
			return 0, 0
		}
		var run, wait int64 // ns
		if _, err := fmt.Fscan(strings.NewReader(string(b)), &run, &wait); err != nil {
			return 0, 0
		}
		used += time.Duration(run)
		waited += time.Duration(wait)
	}
	return used, waited
}

// busy says what the guest's CPUs do: a spinning kernel uses all of one, a
// guest that waits for something uses none. "" if it cannot be told. starved
// is true if they would run and the host does not let them.
func (m *Machine) busy(ctx context.Context) (says string, starved bool) {
	const look = time.Second
	used, waited := m.cpuTime(ctx)
	select {
	case <-ctx.Done():
		return "", false
	case <-time.After(look):
	}
	usedNow, waitedNow := m.cpuTime(ctx)
	if used == 0 || usedNow < used {
		return "", false
	}
	run, wait := usedNow-used, waitedNow-waited
	return fmt.Sprintf("its CPUs used %.0f %% of a host CPU", 100*float64(run)/float64(look)), tooBusy(run, wait, look)
}

// tooBusy says whether the host kept a guest from running, so that the guest is
// not to blame for being late: it waited longer than it ran, and ran for less
// than a quarter of the time.
func tooBusy(run, wait, of time.Duration) bool {
	return wait > run && run < of/4 && wait > of/4
}
