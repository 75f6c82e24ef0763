// Package vhost presents disks to a virtual machine over vhost-user: the
// machine's driver puts requests into rings in its own memory, which we share,
// and no byte of data crosses a socket.
//
// A [Conn] serves one device on one connection: a virtio-blk disk ([Block]) or
// a SCSI disk behind a virtio-scsi host ([SCSI]). What the disk does with a
// request, and when it is done, is its [Backend]'s affair.
//
// It serves two kinds of machines. User Mode Linux in virtual time has its
// notifications in the same sockets as everything else, and waits for the
// answer to each, so that one goroutine that polls keeps step with it:
// [Conn.Handle], [Conn.Call]. QEMU notifies by eventfds, while requests are
// answered from any goroutine: [Conn.Serve].
//
// It promises that no machine can make it read or write outside the memory that
// it was given, loop for ever, or end the process: rings, descriptors and
// commands are checked, and memory that is taken away under us is an error of
// that connection. It promises that a request is answered once.
//
// It does not migrate, log dirty pages, offer packed rings or more than one
// queue of requests, or pass on anything to a host's SCSI device.
//
// Sources: the vhost-user protocol (QEMU, docs/interop/vhost-user.rst), Virtual
// I/O Device (VIRTIO) 1.2, SPC-4 and SBC-3.
package vhost
