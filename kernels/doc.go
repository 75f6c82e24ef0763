// Package kernels makes bootable kernels: from a Debian package, from a bzImage
// that somebody built, or from source code with a series of patches.
//
// What comes out is an [Artifact] in the store: the image that QEMU boots, or
// the program that is User Mode Linux; the modules with what depmod says of
// them, the configuration, and a hash that is the kernel's identity. The same
// package, the same files, or the same source with the same configuration and
// compiler, give the same hash on every host and day. An entry of the store is
// complete in itself; what it was made from may change or go.
//
// Source code goes through three rooms: [spindle/kernels/tree] makes one commit
// of a base and patches, [spindle/kernels/kconfig] knows configurations,
// [spindle/kernels/kbuild] builds. A kernel that was built before is found by
// the hash of its tree, configuration and compiler, before anything is built.
//
// Where the kernel has an entry point for PVH, QEMU is given the ELF vmlinux
// from within the bzImage. That saves the guest its own decompression, about a
// second under emulation, and with it KASLR, which would move the kernel to
// another place in each boot.
//
// The package also knows what a plan's words mean to a kernel: which symbols
// of the configuration and which modules a filesystem, an I/O scheduler or a
// bus takes ([Need]), and in which order modules are loaded ([Artifact.Order]).
package kernels
