// Package uml runs one guest in virtual time: a Linux kernel built as a program
// (User Mode Linux), whose clock jumps over all waiting, with test drives that
// are modelled in the same time.
//
// [Run] boots the kernel, lets the guest's agent carry out its job, and gives
// what came of it. The guest has no network and no SSH: nobody can speak to a
// guest whose time stands still. The job lies in its initramfs; words and
// results come back over a drive of its own, the mailbox, whose requests
// take a fixed time like those of any other drive.
//
// It promises that
//   - a run is decided by the kernel, the guest's files, the seed, the amount of
//     memory and the drives, and by nothing of the host: not by its speed or
//     load, the directory, the user or the day. [Report.Trace] is equal then;
//   - every end is told apart as by package machine: a panic, an oops, a guest
//     that gets nowhere, one that powers itself off, and our own failures;
//   - nothing of the guest outlives Run or this process.
//
// It does not promise the last for a program in the guest that computes without
// a system call for half a second on a CPU of the host: the guest's clock is
// pushed on then, how far depends on the host, and [Report.Spins] counts it.
//
// What it does not model: the time that computing takes, beyond a stated cost
// of each system call, page fault and copied byte ([Cost]); more than one CPU;
// controllers other than virtio's; anything that the kernel does differently on
// a real machine's interrupts and memory.
//
// figures.md beside this file has measurements: a published run at its full size,
// QEMU beside virtual time, what it costs, and what moves it.
package uml
