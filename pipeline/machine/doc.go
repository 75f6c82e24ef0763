// Package machine boots one virtual machine with QEMU and tells how it ended.
//
// [Start] gives a running machine: a q35 PC with a kernel, an initramfs, a
// read-only root disk, test drives served over NBD, a serial console and one
// virtio-serial port for SSH. It has no network device, so nothing can come
// in or go out by one. All sockets are inherited descriptors: no path on disk
// that another process could open.
//
// It promises that
//   - every end is told apart, with its kind and its evidence: a panic, a hang
//     or an unasked power-off is the kernel's; a killed QEMU, a dead drive
//     server or a lost sshd in a living guest is ours (see [Ending]);
//   - a panic is told when it happens, from the console or from pvpanic, not
//     when some time limit ends. QEMU's exit status is 0 then and is not asked;
//   - the console is always read, whatever it says and however fast, and all
//     of it is in console.log as it comes; qemu.log beside it has the command
//     line, one to boot the same kernel by hand, and what QEMU said;
//   - no QEMU outlives the machine, its context or this process.
//
// It does not promise that a hang is found while nobody talks to the guest:
// after the guest is ready, whoever uses SSH must call [Machine.Diagnose] when
// the guest no longer answers.
package machine
