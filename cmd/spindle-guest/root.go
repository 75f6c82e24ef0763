package main

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"spindle/workloads"
)

// mount is one file system to mount.
type mount struct {
	kind, dir, data string
	flags           uintptr
	optional        bool // a kernel may be without it
}

// kernelMounts are what the first process needs itself.
var kernelMounts = [...]mount{
	{kind: "devtmpfs", dir: "dev", flags: unix.MS_NOSUID},
	{kind: "proc", dir: "proc", flags: unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
	{kind: "sysfs", dir: "sys", flags: unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
}

// guestMounts are what programs in the guest expect beside those. Debugfs tells
// the real state of writeback throttling and of the backing devices.
var guestMounts = [...]mount{
	{kind: "devpts", dir: "dev/pts", data: "mode=0620,ptmxmode=0666", flags: unix.MS_NOSUID | unix.MS_NOEXEC, optional: true},
	{kind: "tmpfs", dir: "dev/shm", data: "mode=1777", flags: unix.MS_NOSUID | unix.MS_NODEV},
	{kind: "tmpfs", dir: "run", data: "mode=0755", flags: unix.MS_NOSUID | unix.MS_NODEV},
	{kind: "tmpfs", dir: "tmp", data: "mode=1777", flags: unix.MS_NOSUID | unix.MS_NODEV},
	{kind: "debugfs", dir: "sys/kernel/debug", optional: true},
	{kind: "cgroup2", dir: "sys/fs/cgroup", flags: unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, optional: true},
}

func mountAll(root string, mounts []mount) error {
	for _, m := range mounts {
		dir := filepath.Join(root, m.dir)
		// Inside sysfs directories cannot be made; where one is missing so is
		// the file system.
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = unix.Mount(m.kind, dir, m.kind, m.flags, m.data)
		}
		if err != nil && !m.optional {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	return nil
}

// switchRoot makes the squashfs on a drive, under an overlay in memory, the root
// of this process and of the kernel's helpers. The initramfs stays below; its
// spindle directory is in the new root, and so is this program.
func switchRoot(device string) error {
	const (
		lower = "/lower"
		rw    = "/rw"
		root  = "/newroot"
	)
	for _, dir := range []string{lower, rw, root} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount(device, lower, "squashfs", unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("mount root %s: %w", device, err)
	}
	if err := unix.Mount("tmpfs", rw, "tmpfs", 0, "mode=0755"); err != nil {
		return fmt.Errorf("mount %s: %w", rw, err)
	}
	upper, work := rw+"/upper", rw+"/work"
	for _, dir := range []string{upper, work} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	data := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work)
	if err := unix.Mount("overlay", root, "overlay", 0, data); err != nil {
		return fmt.Errorf("mount overlay: %w", err)
	}
	if err := mountAll(root, kernelMounts[:]); err != nil {
		return err
	}
	if err := mountAll(root, guestMounts[:]); err != nil {
		return err
	}
	// A link, not a copy: the program is in memory once.
	if err := os.Link("/init", filepath.Join(workloads.InitDir, workloads.AgentFile)); err != nil && !os.IsExist(err) {
		return err
	}
	spindle := filepath.Join(root, workloads.GuestDir)
	if err := os.MkdirAll(spindle, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(workloads.InitDir, spindle, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", spindle, err)
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move root: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("change root: %w", err)
	}
	return os.Chdir("/")
}

// linkTools puts the program where a shell finds it. The image may have a
// poweroff that talks to an init that is not there.
func linkTools() {
	os.MkdirAll("/usr/local/sbin", 0o755)
	for _, name := range []string{workloads.AgentFile, "poweroff"} {
		os.Symlink(agent(), filepath.Join("/usr/local/sbin", name))
	}
}
