package uml

import (
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSeat binds a process and this thread to one CPU, frees both when they had
// to wait, and binds them again.
func TestSeat(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	if before.Count() < 2 {
		t.Skip("one CPU: there is nothing to bind to")
	}
	guest := exec.Command("sleep", "600")
	if err := guest.Start(); err != nil {
		t.Fatal(err)
	}
	defer guest.Wait()
	defer guest.Process.Kill()
	check := func(when string, loop, other int) {
		t.Helper()
		var ours, theirs unix.CPUSet
		if err := unix.SchedGetaffinity(0, &ours); err != nil {
			t.Fatal(err)
		}
		if err := unix.SchedGetaffinity(guest.Process.Pid, &theirs); err != nil {
			t.Fatal(err)
		}
		if ours.Count() != loop || theirs.Count() != other || loop == 1 && ours != theirs {
			t.Errorf("%s: loop %v, guest %v; want %d and %d CPUs", when, ours, theirs, loop, other)
		}
	}
	all := before.Count()
	var s seat
	s.take(guest.Process.Pid)
	check("taken", 1, 1)
	later := func(waited time.Duration) {
		s.looked = s.looked.Add(-2 * seatEvery)
		s.waited -= waited
		s.look()
	}
	later(0)
	check("nobody else there", 1, 1)
	later(2 * seatEvery)
	check("crowded", all, all)
	later(2 * seatEvery)
	check("settled again", 1, 1)
	s.leave()
	check("left", all, 1)
	if ran, _ := scheduled(s.tid); ran <= 0 || ran > time.Hour {
		t.Errorf("this thread ran for %v", ran)
	}
}
