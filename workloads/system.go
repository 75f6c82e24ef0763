package workloads

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"spindle/internal/unit"
)

// System is the machine that jobs run on, as places and means that a test can
// bring its own of.
type System struct {
	Root    string        // before /sys, /proc and /dev: "" in a guest
	Modules string        // directory with modules.json and modules/
	Mount   string        // where the test file system is mounted
	Self    []string      // this program, for helpers that are processes of their own
	FindFor time.Duration // how long a drive may take to come up
	Quiet   time.Duration // how long a drive must rest before the workload
	Uname   func() string
	Sync    func()
	Kmsg    func() (string, error) // the kernel's log, as "<6>[    1.234567] text" lines

	MountBlkio func(dir string) error // mounts the blkio controller of version 1
}

// MountDir is where a guest has the test file system mounted.
const MountDir = "/mnt/spindle"

// Guest is the guest that this process runs in. self is the path of
// spindle-guest.
func Guest(self string) System {
	return System{
		Modules: GuestDir,
		Mount:   MountDir,
		Self:    []string{self},
		FindFor: 30 * time.Second,
		Quiet:   300 * time.Millisecond, // the drive answers at once until then
		Uname:   uname,
		Sync:    unix.Sync,
		Kmsg:    kernelLog,

		MountBlkio: mountBlkio,
	}
}

func (s System) path(p string) string   { return filepath.Join(s.Root, "/", p) }
func (s System) proc(p string) string   { return s.path("proc/" + p) }
func (s System) sysctl(k string) string { return s.proc("sys/" + strings.ReplaceAll(k, ".", "/")) }

// describe adds what the machine is: kernel, CPUs and memory.
func (s System) describe(out map[string]string) {
	out["kernel"] = s.Uname()
	if data, err := os.ReadFile(s.path("sys/devices/system/cpu/online")); err == nil {
		if n := countList(strings.TrimSpace(string(data))); n > 0 {
			out["cpus"] = strconv.Itoa(n)
		}
	}
	if kib := s.memory(); kib > 0 && kib < 1<<50 {
		out["memory"] = (unit.Size(kib) * unit.KiB).String()
	}
}

// memory gives the machine's memory in KiB; 0 if it is not told.
func (s System) memory() int64 {
	data, _ := os.ReadFile(s.proc("meminfo"))
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(f[1], 10, 64)
			return max(0, kib)
		}
	}
	return 0
}

// countList counts the members of a list such as "0-3,8": the kernel's
// bitmap_print_to_pagebuf. It gives 0 for what is no such list.
func countList(s string) int {
	n := 0
	for part := range strings.SplitSeq(s, ",") {
		first, last, ranged := strings.Cut(part, "-")
		a, err := strconv.Atoi(first)
		b := a
		if ranged && err == nil {
			b, err = strconv.Atoi(last)
		}
		if err != nil || a < 0 || b < a {
			return 0
		}
		n += b - a + 1
	}
	return n
}

func uname() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// kernelLog reads the whole log buffer (syslog(2)).
func kernelLog() (string, error) {
	size, err := unix.Klogctl(unix.SYSLOG_ACTION_SIZE_BUFFER, nil)
	if err != nil {
		return "", err
	}
	buf := make([]byte, size)
	n, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}
