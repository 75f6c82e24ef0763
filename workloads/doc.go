// Package workloads is what happens inside a guest: the programs that are
// measured, the settings applied before them and the counters sampled beside
// them.
//
// A plan names a [Spec], the host sends a [Job] with it into the guest, and
// [Do] carries it out and gives a [Result]. The programs are GNU dd, fio, any
// command, and those of the mails that writeback was argued about in, which are
// written anew: fsync-tester (package torture), read-to-pipe (pipe), ioperf, an
// application's start (startup) and many small files (create). Others may run
// beside one.
//
// It promises that every setting is read back from the kernel before the clock
// starts, that nothing of our own is left running on the drive then (a file
// system's lazy initialisation is done by mkfs, the rest is waited for), that
// the exact commands and the raw output are kept beside every parsed number,
// and that a failure says whose it is: a setting the kernel did not take, a
// mkfs, a mount or a workload that failed or passed its limit are the kernel's;
// a program that is not in the image, a drive that is too small or a host that
// stopped talking are not.
//
// It does not judge numbers, does not model the drive and does not know about
// arms or conditions. Nothing is undone afterwards: the guest is thrown away.
package workloads
