// Package passthrough gives a whole disk of this host to a guest, and sees to
// it that nothing is destroyed by mistake.
//
// A disk is taken only if all of this holds:
//   - its identity equals what the plan says may be destroyed (see [Disk.ID]);
//   - it is a whole disk that can be written, not a partition of one;
//   - neither it nor a partition of it is mounted, is swap space, or is held by
//     another device: device mapper, LVM, md, bcache;
//   - neither carries a signature of a file system, a RAID member, a volume
//     group or a partition table, unless the plan says destroy-contents.
//
// [Check] says early, before anything is built, what speaks against it. [Take]
// looks again right before the guest starts, with the disk opened exclusively
// (O_EXCL): from then on the kernel itself refuses to mount it, to swap on it
// or to give it to another device, and what is in use already cannot be opened
// at all, ZFS and mounts of other namespaces included.
//
// What it cannot see: a program that reads and writes the device node without
// O_EXCL, another host on the same SAN, and data without a signature that
// libblkid knows. What a guest wrote while the disk was taken is ours:
// [Disk.Release] takes its signatures away, so that the next sample finds the
// disk as this one did. After a kill -9 they stay, and the next Take refuses.
package passthrough
