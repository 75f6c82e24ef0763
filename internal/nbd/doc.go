// Package nbd serves a block device over the Network Block Device protocol,
// many requests at a time, answered in any order.
//
// It exists so that the guest's disk can be a model of a slow drive: QEMU is
// the client, and the [Backend] decides when each request is done. One reader
// takes requests off the connection, hands each to the backend and goes on;
// replies leave when the backend says so, on the goroutine that says so and
// without a change of thread, as long as the socket takes them; the rest, and
// replies of more than a MiB, go through one writer.
//
// It promises: the fixed newstyle handshake (GO, INFO, LIST, EXPORT_NAME,
// ABORT) over any [net.Conn]; a request that makes no sense is answered with an
// error number and the connection goes on; memory is bounded whatever lengths
// the client claims; a backend that answers twice panics.
//
// It does not do TLS, structured replies, extended headers, block status or
// resizing; a client that asks is told so and can go on without. It does not
// order overlapping requests that are in flight together: the protocol leaves
// that to the client.
//
// Source: doc/proto.md of github.com/NetworkBlockDevice/nbd.
package nbd
