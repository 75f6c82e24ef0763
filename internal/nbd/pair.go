package nbd

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// socketBuffer is how much each direction may hold. A writeback request of a
// few hundred KiB then crosses without the two processes taking turns.
const socketBuffer = 4 << 20

// Pair gives the two ends of a connected stream socket. The server end goes to
// [Serve]; the client end is inherited by a child process, which is told its
// descriptor number (QEMU: -blockdev driver=nbd,server.type=fd,server.str=N).
// The caller closes its own copy of client once the child has started;
// otherwise the server never sees the child go.
func Pair() (server net.Conn, client *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make socket pair: %w", err)
	}
	for _, fd := range fds {
		// Beyond net.core.wmem_max only the superuser gets what it asks for;
		// a smaller buffer is slower, nothing worse.
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, socketBuffer) != nil {
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, socketBuffer)
		}
	}
	ours := os.NewFile(uintptr(fds[0]), "nbd-server")
	client = os.NewFile(uintptr(fds[1]), "nbd-client")
	defer ours.Close() // FileConn works on a copy
	server, err = net.FileConn(ours)
	if err != nil {
		client.Close()
		return nil, nil, fmt.Errorf("use socket pair: %w", err)
	}
	return server, client, nil
}
