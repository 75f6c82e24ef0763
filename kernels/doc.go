// Package kernels makes bootable kernels: from a Debian package, or from a
// bzImage that somebody built.
//
// What comes out is an [Artifact] in the store: the image that QEMU boots, the
// modules with what depmod says of them, the configuration, and a hash that is
// the kernel's identity. The same package, or the same files, give the same
// hash on every host and day. An entry of the store is complete in itself; the
// files that it was made from may change or go.
//
// Where the kernel has an entry point for PVH, QEMU is given the ELF vmlinux
// from within the bzImage. That saves the guest its own decompression, about a
// second under emulation, and with it KASLR, which would move the kernel to
// another place in each boot.
//
// The package also knows what a plan's words mean to a kernel: which symbols
// of the configuration and which modules a filesystem, an I/O scheduler or a
// bus takes ([Need]), and in which order modules are loaded ([Artifact.Order]).
// It does not build kernels.
package kernels
