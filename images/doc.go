// Package images makes what guests run: a root file system with the programs
// of the workloads, and an initramfs with init and the kernel's modules.
//
// The root is Debian, made by mmdebstrap from packages that Debian signed, as
// a squashfs that is never written to. Equal inputs give equal bytes: for root
// and for an ordinary user, today and tomorrow, as long as the archive gives
// the same versions and the host has the same mksquashfs and lz4. What differs
// between two installations of the same packages (times, caches, logs, machine
// ids, host names, keys) is taken out, and so is documentation.
//
// # When an image is made anew
//
// An image is kept in the store under what was asked for: suite, packages,
// mirror. The versions that the archive had when it was made are recorded with
// it, but they are not part of its name. So the guests of a run that goes on
// next week, or is compared with one of last month, are the same guests; the
// price is that updates of Debian do not come by themselves. How old an image
// is, is said each time that it is used; to have it made anew, remove its
// directory from the store. Spec.Snapshot pins the versions for every host.
//
// An initramfs is named by what it holds.
package images
