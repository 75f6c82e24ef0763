package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"spindle/workloads"
	"spindle/workloads/blockdev"
	"spindle/workloads/kmod"
)

// rootLimit is how long the drive with the root may take to come up.
const rootLimit = 30 * time.Second

// boot is process 1. It never returns: it ends in looking after orphans, or in
// power off.
func boot() {
	defer func() {
		if p := recover(); p != nil {
			fatal(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	sshd, ready, err := start()
	if err != nil {
		fatal(err)
	}
	lookAfter(sshd, ready)
}

// start brings the guest up to the SSH server.
func start() (sshd int, ready *os.File, err error) {
	if err := mountAll("/", kernelMounts[:]); err != nil {
		return 0, nil, err
	}
	say("init %s", version())
	text, err := os.ReadFile(filepath.Join(workloads.InitDir, workloads.BootFile))
	if err != nil {
		return 0, nil, err
	}
	var b workloads.Boot
	if err := json.Unmarshal(text, &b); err != nil {
		return 0, nil, fmt.Errorf("read %s: %w", workloads.BootFile, err)
	}
	if err := setClock(b.Time); err != nil {
		return 0, nil, err
	}
	if b.Hostname != "" {
		if err := unix.Sethostname([]byte(b.Hostname)); err != nil {
			return 0, nil, fmt.Errorf("set host name: %w", err)
		}
	}
	answerModprobe("/init")
	if err := loadBoot(b.Modules); err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), rootLimit, errors.New("not there in time"))
	defer cancel()
	root, err := blockdev.Find(ctx, "/sys", "/dev", b.Root)
	if err != nil {
		return 0, nil, fmt.Errorf("root: %w", err)
	}
	if err := switchRoot(root.Node); err != nil {
		return 0, nil, err
	}
	answerModprobe(agent())
	linkTools()
	if b.Mailbox != "" {
		mailMan(b.Mailbox) // never returns
	}
	return startSSHD(b)
}

// agent is where this program is after the change of root.
func agent() string { return filepath.Join(workloads.GuestDir, workloads.AgentFile) }

func version() string {
	v := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v = info.Main.Version
	}
	return v
}

// setClock sets the time of day. A guest without a clock of its own starts in
// 1970, and file systems complain.
func setClock(seconds int64) error {
	if seconds == 0 {
		return nil
	}
	tv := unix.NsecToTimeval(seconds * 1e9)
	if err := unix.Settimeofday(&tv); err != nil {
		return fmt.Errorf("set clock: %w", err)
	}
	return nil
}

func loadBoot(names []string) error {
	if len(names) == 0 {
		return nil
	}
	list, err := kmod.Read(filepath.Join(workloads.InitDir, workloads.ModuleList))
	if err != nil {
		return err
	}
	_, err = kmod.Loader{List: list, Dir: filepath.Join(workloads.InitDir, workloads.ModuleDir)}.Load(names...)
	return err
}

// answerModprobe has the kernel call this program when it asks for a module. A
// kernel without modules has no such file.
func answerModprobe(path string) {
	os.WriteFile("/proc/sys/kernel/modprobe", []byte(path), 0)
}

// startSSHD starts the server as a process of its own, so that its death is
// seen. What comes out of ready is one byte when it serves, or the end.
func startSSHD(b workloads.Boot) (pid int, ready *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, nil, err
	}
	defer w.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, nil, err
	}
	defer null.Close()
	argv := []string{workloads.AgentFile, "sshd", b.Port}
	if b.OpenSSH {
		argv = append(argv, "openssh")
	}
	p, err := os.StartProcess(agent(), argv, &os.ProcAttr{
		Dir:   "/",
		Env:   environment(),
		Files: []*os.File{null, console(), console(), w},
	})
	if err != nil {
		return 0, nil, fmt.Errorf("start sshd: %w", err)
	}
	pid = p.Pid
	p.Release() // lookAfter waits for all processes alike
	return pid, r, nil
}

// environment is what sessions start from.
func environment() []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root", "USER=root", "LOGNAME=root", "SHELL=/bin/sh", "LANG=C.UTF-8",
	}
}

// lookAfter waits for every process that ends, for ever, and for the word to
// power off.
func lookAfter(sshd int, ready *os.File) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGCHLD, unix.SIGTERM, unix.SIGINT, unix.SIGPWR)
	up := make(chan bool, 1)
	go func() {
		n, _ := ready.Read(make([]byte, 1))
		up <- n == 1
	}()
	for {
		// First what ended before the signal was asked for.
		for {
			var status unix.WaitStatus
			pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
			if err == unix.EINTR {
				continue
			}
			if err != nil || pid <= 0 {
				break
			}
			if pid == sshd {
				say("sshd exited: %s", ending(status))
			}
		}
		select {
		case ok := <-up:
			if ok {
				say("ready")
			}
			up = nil
		case s := <-signals:
			if s != unix.SIGCHLD {
				powerOff()
			}
		}
	}
}

func ending(s unix.WaitStatus) string {
	if s.Signaled() {
		return "killed by " + unix.SignalName(s.Signal())
	}
	return fmt.Sprintf("status %d", s.ExitStatus())
}

// fatal says why the guest cannot go on, and powers it off.
func fatal(err error) {
	say("fatal: %v", err)
	powerOff()
}

// powerOff ends the guest at once. Nothing is synced: no guest is used twice.
func powerOff() {
	time.Sleep(50 * time.Millisecond) // the last line leaves the UART
	err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	say("power off: %v", err)
	unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART) // QEMU is told not to start again
	select {}
}
