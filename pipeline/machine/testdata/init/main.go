// Command init is PID 1 of the guests in package machine's tests. The kernel
// parameter spindle.test says how it behaves until it is ready; then it obeys
// lines that come over the SSH port.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"spindle/workloads/blockdev"
	"spindle/workloads/kmod"

	"golang.org/x/sys/unix"
)

func main() {
	for _, fs := range []string{"proc", "sysfs", "devtmpfs", "debugfs"} {
		dir := map[string]string{"proc": "/proc", "sysfs": "/sys", "devtmpfs": "/dev", "debugfs": "/sys/kernel/debug"}[fs]
		os.MkdirAll(dir, 0o755)
		unix.Mount(fs, dir, fs, 0, "")
	}
	if tty, err := os.OpenFile("/dev/console", os.O_RDWR, 0); err == nil {
		os.Stdout, os.Stderr = tty, tty
	}
	say("init test")
	switch mode := mode(); mode {
	case "exit":
		os.Exit(7)
	case "poweroff":
		unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	case "reset":
		unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
	case "silent":
		block()
	case "talk":
		for range time.Tick(200 * time.Millisecond) {
			fmt.Println("still talking")
		}
	case "ready":
		serve()
	default:
		say("fatal: unknown mode %q", mode)
		unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	}
}

func say(format string, args ...any) { fmt.Printf("spindle: "+format+"\n", args...) }

func mode() string {
	b, _ := os.ReadFile("/proc/cmdline")
	for _, w := range strings.Fields(string(b)) {
		if m, ok := strings.CutPrefix(w, "spindle.test="); ok {
			return m
		}
	}
	return ""
}

func crash() { os.WriteFile("/proc/sysrq-trigger", []byte("c"), 0) }

// serve loads the modules, opens the port and obeys.
func serve() {
	load()
	port, err := open("org.spindle.ssh")
	if err != nil {
		say("fatal: %v", err)
		unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	}
	say("ready")
	lines := bufio.NewScanner(port)
	for lines.Scan() {
		verb, arg, _ := strings.Cut(lines.Text(), " ")
		switch verb {
		case "echo":
			fmt.Fprintln(port, arg)
		case "show": // the contents of one file, in one line; the name may have wild cards
			names, _ := filepath.Glob(arg)
			var b []byte
			for _, n := range names {
				b, _ = os.ReadFile(n)
			}
			fmt.Fprintln(port, strings.TrimSpace(string(b)))
		case "read": // from a disk found by its serial
			fmt.Fprintln(port, read(arg))
		case "describe":
			fmt.Fprintln(port, describe(arg))
		case "sync": // write to a disk and wait for it
			name, _, _ := strings.Cut(read(arg), " ")
			f, err := os.OpenFile("/dev/"+name, os.O_WRONLY, 0)
			if err == nil {
				_, err = f.Write(make([]byte, 4096))
			}
			fmt.Fprintln(port, "written", err)
			fmt.Fprintln(port, "synced", f.Sync())
		case "kmsg": // as if the kernel had said it
			// Without the line feed the kernel waits for more of the line.
			os.WriteFile("/dev/kmsg", []byte(arg+"\n"), 0)
			fmt.Fprintln(port, "ok")
		case "panic":
			crash()
		case "poweroff":
			unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
		case "reset":
			unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
		case "sshd":
			say("sshd exited: signal: killed")
		case "shut":
			port.Close()
			block()
		case "hog":
			hog()
		}
	}
	block()
}

// block does nothing for good. An empty select would be a deadlock to the Go
// runtime, which then ends the program.
func block() {
	for {
		time.Sleep(time.Hour)
	}
}

// hog takes the CPU for good: real time, above everything, without the two
// limits that Linux otherwise has for such tasks (the second from 6.12 on).
func hog() {
	os.WriteFile("/proc/sys/kernel/sched_rt_runtime_us", []byte("-1"), 0)
	limits, _ := filepath.Glob("/sys/kernel/debug/sched/fair_server/*/runtime")
	for _, f := range limits {
		os.WriteFile(f, []byte("0"), 0)
	}
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: 1 /* SCHED_FIFO */, Priority: 99}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		say("fatal: %v", err)
	}
	for {
	}
}

func load() {
	order, _ := os.ReadFile("/modules/order")
	cmdline, _ := os.ReadFile("/proc/cmdline")
	for _, name := range strings.Fields(string(order)) {
		f, err := os.Open(filepath.Join("/modules", name))
		if err != nil {
			say("fatal: %v", err)
			continue
		}
		flags := 0
		if !strings.HasSuffix(name, ".ko") {
			flags = unix.MODULE_INIT_COMPRESSED_FILE
		}
		module, _, _ := strings.Cut(name, ".")
		if err := unix.FinitModule(int(f.Fd()), kmod.Params(string(cmdline), module), flags); err != nil && err != unix.EEXIST {
			fmt.Printf("load %s: %v\n", name, err)
		}
		f.Close()
	}
}

func open(port string) (*os.File, error) {
	for range 500 {
		names, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
		for _, n := range names {
			if b, _ := os.ReadFile(n); strings.TrimSpace(string(b)) == port {
				return os.OpenFile("/dev/"+filepath.Base(filepath.Dir(n)), os.O_RDWR, 0)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, fmt.Errorf("no port %s", port)
}

// find waits for a disk by its serial, as guests of plans do.
func find(serial string) (blockdev.Drive, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return blockdev.Find(ctx, "/sys", "/dev", serial)
}

// read gives the disk's name and the first bytes of it. It reads a MiB in one
// request, past the page cache.
func read(serial string) string {
	d, err := find(serial)
	if err != nil {
		return err.Error()
	}
	b, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err.Error()
	}
	f, err := os.OpenFile(d.Node, os.O_RDONLY|unix.O_DIRECT, 0)
	if err == nil {
		_, err = f.ReadAt(b, 0)
		f.Close()
	}
	if err != nil {
		return err.Error()
	}
	return d.Name + " " + strings.TrimRight(string(b[:16]), "\x00")
}

// describe gives what the kernel made of a disk, as JSON.
func describe(serial string) string {
	d, err := find(serial)
	if err != nil {
		return err.Error()
	}
	text, err := json.Marshal(d.Describe())
	if err != nil {
		return err.Error()
	}
	return string(text)
}
