// Spindle-guest is all of spindle that runs in a guest: its first process, its
// SSH and SFTP server, and what carries out a job there. It is one static
// program that the host puts into the initramfs.
//
//	/init                        as process 1: boots the guest
//	spindle-guest sshd PORT [openssh]
//	                             serves SSH on a virtio port, itself or by the
//	                             image's OpenSSH
//	spindle-guest job FILE       carries out a workloads.Job
//	spindle-guest load NAME...   loads modules with what they depend on
//	spindle-guest gauge SERIAL OP COUNT SIZE [MODULE...]
//	                             times so many reads or writes of a drive
//	spindle-guest extents FILE...
//	                             tells in how many extents files lie
//	spindle-guest poweroff       ends the guest
//
// The kernel calls it as modprobe, too.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"spindle/workloads"
)

func main() {
	if os.Getpid() == 1 {
		boot()
	}
	os.Exit(run(os.Args))
}

const usage = `usage: spindle-guest job FILE        carry out a job; its result goes into its directory
       spindle-guest mail SERIAL FILE  the same, with the host at a drive
       spindle-guest load NAME...    load kernel modules with what they depend on
       spindle-guest gauge SERIAL OP COUNT SIZE [MODULE...]
                                     time COUNT reads or writes (OP) of SIZE bytes of the
                                     drive with that serial
       spindle-guest extents FILE... tell in how many extents files lie
       spindle-guest sshd PORT       serve SSH on the virtio port of that name
       spindle-guest poweroff        end the guest`

// run is the program with its arguments; it gives the exit status.
func run(argv []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if filepath.Base(argv[0]) == "poweroff" {
		return report(unix.Kill(1, unix.SIGTERM))
	}
	args := argv[1:]
	if code, ok := workloads.Role(ctx, []string{self}, args); ok {
		return code
	}
	switch {
	case len(args) == 3 && args[0] == "-q" && args[1] == "--":
		return report(modprobe(args[2]))
	case len(args) == 2 && args[0] == "sshd":
		return report(sshd(ctx, args[1]))
	case len(args) == 3 && args[0] == "sshd" && args[2] == "openssh":
		return report(openSSHD(ctx, args[1]))
	case len(args) == 3 && args[0] == "mail":
		return report(byMail(ctx, args[1], args[2]))
	case len(args) == 2 && args[0] == "job":
		return report(job(ctx, args[1], os.Stdin, os.Stdout))
	case len(args) >= 5 && args[0] == "gauge":
		return report(gauge(ctx, args[1], args[2], args[3], args[4], args[5:], os.Stdout))
	case len(args) >= 2 && args[0] == "load":
		return report(load(args[1:], os.Stdout))
	case len(args) == 1 && args[0] == "poweroff":
		return report(unix.Kill(1, unix.SIGTERM))
	}
	fmt.Fprintln(os.Stderr, usage)
	return 2
}

// self is this program, also where the file was removed or hidden by a mount.
const self = "/proc/self/exe"

func report(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "spindle-guest: %v\n", err)
	return 1
}
