package drive

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// urgency is what an alarm's thread asks the host's scheduler for, best first;
// it takes the first that it is allowed. On a busy host a thread of default
// priority wakes 4 to 10 ms late, and later.
//
// A thread under SCHED_DEADLINE goes before everything, for 0.3 ms in 1; it uses
// some 20 µs an answer, and 0.1 ms where 128 KiB are to be copied. One that has
// used up its share waits for the next period. So the period is short: with one
// of 4 ms, a reader that had fallen behind and was catching up from the drive's
// read-ahead was held up for longer than what was read ahead lasted.
//
// The bound is why it is not SCHED_FIFO: Go's runtime has places where a thread
// spins until another, perhaps one that it has just pushed off the CPU, takes a
// step. A nice value counts only within a session where the kernel groups tasks
// by session (sched_autogroup). The short slice lets a thread interrupt another
// of equal right when it wakes, on Linux 6.12 and newer; it needs no privilege.
var urgency = []struct {
	name string
	attr unix.SchedAttr
}{
	{"deadline", unix.SchedAttr{Policy: unix.SCHED_DEADLINE, Flags: unix.SCHED_FLAG_RESET_ON_FORK,
		Runtime: 300e3, Deadline: 1e6, Period: 1e6}},
	{"nice -15", unix.SchedAttr{Policy: unix.SCHED_NORMAL, Nice: -15, Runtime: 100e3}},
	{"short slice", unix.SchedAttr{Policy: unix.SCHED_NORMAL, Runtime: 100e3}},
}

// beUrgent raises the calling thread and names what it got.
func beUrgent() string {
	for _, u := range urgency {
		u.attr.Size = unix.SizeofSchedAttr
		if unix.SchedSetAttr(0, &u.attr, 0) == nil {
			return u.name
		}
	}
	return "default"
}

// alarm calls a function at a given time, on a thread of its own.
//
// The thread blocks in reading a timerfd, which whoever takes a new request
// arms directly: the thread need not wake to learn that the time has changed.
// Timers of the kernel's timerfd have no slack. Go's own timers would be about
// a millisecond late.
//
// A CPU that has slept takes some 0.1 ms to wake. Before a time that is far
// enough away the thread therefore wakes a little earlier, and spins: a hundredth
// of a CPU for a disk, and no answer is late for want of a CPU that was awake.
type alarm struct {
	fd     int
	ring   func()
	at     atomic.Int64 // when to ring, monotonic ns
	closed atomic.Bool
	got    string // see beUrgent
	ended  chan struct{}
}

const (
	spin    = 120 * time.Microsecond
	spinFar = 10 * spin // what is nearer than that does without
)

func newAlarm(ring func()) (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make timer: %w", err)
	}
	a := &alarm{fd: fd, ring: ring, ended: make(chan struct{})}
	started := make(chan struct{})
	go a.run(started)
	<-started
	return a, nil
}

func (a *alarm) run(started chan struct{}) {
	// Never unlocked: the thread ends with the goroutine, and its priority
	// with it.
	runtime.LockOSThread()
	defer close(a.ended)
	a.got = beUrgent()
	close(started)
	var expired [8]byte
	for {
		if _, err := unix.Read(a.fd, expired[:]); err != nil && !errors.Is(err, unix.EINTR) {
			panic(fmt.Sprintf("read timer: %v", err)) // it was made by us, for this
		}
		if a.await(); a.closed.Load() {
			return
		}
		a.ring()
	}
}

// set makes the alarm ring at a time of the monotonic clock, instead of when it
// was set to before. A time that has passed rings at once.
func (a *alarm) set(at time.Duration) {
	a.at.Store(int64(at))
	if at-monotonic() > spinFar {
		at -= spin
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(int64(at), 1))} // 0 would disarm it
	if err := unix.TimerfdSettime(a.fd, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		panic(fmt.Sprintf("set timer: %v", err))
	}
}

// await spins until it is time. Where the time was put off meanwhile it returns
// too: ringing too early is harmless.
func (a *alarm) await() {
	for {
		left := a.at.Load() - int64(monotonic())
		if left <= 0 || left > int64(spin) || a.closed.Load() {
			return
		}
	}
}

// close ends the thread. It must not be called from ring.
func (a *alarm) close() error {
	a.closed.Store(true)
	a.set(0)
	<-a.ended
	return unix.Close(a.fd)
}

// monotonic is the time of CLOCK_MONOTONIC, which the timer counts in.
func monotonic() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(fmt.Sprintf("read clock: %v", err))
	}
	return time.Duration(ts.Nano())
}
