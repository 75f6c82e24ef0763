package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// portLimit is how long a virtio port may take to come up.
const portLimit = 30 * time.Second

// findPort waits for the virtio port of that name and gives its device. The
// number in vport2p1 is that of the virtio device and means nothing.
func findPort(ctx context.Context, sys, dev, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, portLimit)
	defer cancel()
	for {
		dirs, _ := filepath.Glob(filepath.Join(sys, "class/virtio-ports/*"))
		for _, dir := range dirs {
			text, err := os.ReadFile(filepath.Join(dir, "name"))
			if err != nil || strings.TrimSpace(string(text)) != name {
				continue
			}
			node := filepath.Join(dev, filepath.Base(dir))
			if _, err := os.Stat(node); err == nil {
				return node, nil
			}
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return "", fmt.Errorf("find virtio port %s: not there after %s (is virtio_console loaded?)", name, portLimit)
		}
	}
}

// portConn is a virtio port as a network connection.
type portConn struct{ *os.File }

type portAddr string

func (portAddr) Network() string  { return "virtio-port" }
func (a portAddr) String() string { return string(a) }

func (c portConn) LocalAddr() net.Addr  { return portAddr(c.Name()) }
func (c portConn) RemoteAddr() net.Addr { return portAddr("host") }

// openPort opens the port.
func openPort(node string) (portConn, error) {
	f, err := os.OpenFile(node, os.O_RDWR|unix.O_NONBLOCK, 0)
	return portConn{f}, err
}

// await waits until the host's side is open too: without, a read gives the end
// of the file at once.
func (c portConn) await(ctx context.Context) error {
	for !connected(c.File) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// connected tells whether the host has its side of the port open.
func connected(f *os.File) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	up := false
	err = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLOUT}}
		for {
			_, err := unix.Poll(fds, 0)
			if !errors.Is(err, unix.EINTR) {
				up = err == nil && fds[0].Revents&unix.POLLHUP == 0
				return
			}
		}
	})
	return err == nil && up
}
