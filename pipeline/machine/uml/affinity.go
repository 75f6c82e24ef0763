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
	// seatEvery is how often it is looked whether the CPU is shared with others.
	seatEvery = time.Second
	// seatCrowded is the part of the time in which guest and loop may wait for
	// their CPU before they look for another.
	seatCrowded = 0.3
)

// seat keeps a guest and the loop that serves it on one CPU of the host. As only
// one of them runs at a time, a second CPU would be of no use, and each turn would
// have to wake one that sleeps: on a virtual host that takes longer than all of
// the turn's work, and halved the speed of whole runs.
//
// The price is that the host cannot spread them where its other work leaves room.
// Guest and loop are set free for a moment when they had to wait much, and stay
// where the host's scheduler puts them then.
//
// Nothing of it shows in the guest's time, nor does a failure to bind.
type seat struct {
	pid     int // of the guest
	tid     int // of the loop's thread
	allowed unix.CPUSet
	bound   bool
	looked  time.Time
	waited  time.Duration // by guest and loop, when last looked
}

// take binds the calling thread, which must be locked, and the guest.
func (s *seat) take(guest int) {
	s.pid, s.tid = guest, unix.Gettid()
	if err := unix.SchedGetaffinity(0, &s.allowed); err != nil || s.allowed.Count() < 2 {
		s.pid = 0
		return
	}
	s.looked, s.waited = time.Now(), s.waits()
	s.bind()
}

// bind settles guest and loop where the loop is now.
func (s *seat) bind() {
	cpu, err := currentCPU()
	if err != nil {
		return
	}
	var one unix.CPUSet
	one.Set(cpu)
	s.set(&one)
	s.bound = true
}

// leave lets the thread run everywhere again.
func (s *seat) leave() {
	if s.pid != 0 {
		unix.SchedSetaffinity(0, &s.allowed)
	}
}

// look is called at each turn.
func (s *seat) look() {
	if s.pid == 0 {
		return
	}
	now := time.Now()
	passed := now.Sub(s.looked)
	if passed < seatEvery {
		return
	}
	waits := s.waits()
	crowded := waits-s.waited > time.Duration(seatCrowded*float64(passed))
	s.looked, s.waited = now, waits
	switch {
	case !s.bound:
		s.bind()
	case crowded:
		s.set(&s.allowed)
		s.bound = false
	}
}

// set allows the loop's thread, the guest's kernel and its programs these CPUs.
// A program that begins later inherits them.
func (s *seat) set(cpus *unix.CPUSet) {
	unix.SchedSetaffinity(0, cpus)
	for _, p := range append([]int{s.pid}, children(s.pid)...) {
		tasks, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(p), "task"))
		if err != nil {
			continue // gone
		}
		for _, t := range tasks {
			if tid, err := strconv.Atoi(t.Name()); err == nil {
				unix.SchedSetaffinity(tid, cpus)
			}
		}
	}
}

// waits is how long the loop's thread and the guest's kernel had no CPU.
func (s *seat) waits() time.Duration {
	_, loop := scheduled(s.tid)
	_, guest := scheduled(s.pid)
	return loop + guest
}

// currentCPU is the CPU on which the calling thread runs: field 39 of
// /proc/PID/stat (proc_pid_stat(5)).
func currentCPU() (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", unix.Gettid()))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 37 {
		return 0, fmt.Errorf("read CPU of thread: %d fields", len(f))
	}
	return strconv.Atoi(f[36])
}
