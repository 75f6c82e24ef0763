package uml

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"spindle/internal/vhost"
)

const timeSocket = "time"

// Virtio's numbers of devices (VIRTIO 1.2, 5).
const (
	virtioBlock = 2
	virtioSCSI  = 8
)

// event is a device's share of the calendar.
type event interface {
	next() (time.Duration, bool)
	fire(now time.Duration)
}

// link is one device of the guest: where it connects, and what answers there.
type link struct {
	name   string // of the socket
	kind   int
	listen int // or -1
	device vhost.Device
	conn   *vhost.Conn // nil until the guest connects
	events event
	// told are requests that the device answered by itself, an inquiry for
	// example: the guest is interrupted for them like for others.
	told delayed
}

// next is the link's earliest event.
func (k *link) next() (due time.Duration, ok bool) {
	due, ok = k.events.next()
	if t, any := k.told.next(); any && (!ok || t < due) {
		due, ok = t, true
	}
	return due, ok
}

// links are all devices, in the order in which the guest finds them.
type links struct {
	dir  string
	list []*link
}

func (l *links) add(name string, kind int, d vhost.Device, e event) error {
	fd, err := listen(l.dir, name)
	if err != nil {
		return err
	}
	l.list = append(l.list, &link{name: name, kind: kind, listen: fd, device: d, events: e})
	return nil
}

// next is the earliest event of all devices.
func (l *links) next() (due time.Duration, ok bool) {
	for _, k := range l.list {
		if t, any := k.next(); any && (!ok || t < due) {
			due, ok = t, true
		}
	}
	return due, ok
}

func (l *links) close() error {
	var errs []error
	for _, k := range l.list {
		if k.conn != nil {
			errs = append(errs, k.conn.Close())
		}
		if k.listen >= 0 {
			unix.Close(k.listen)
		}
	}
	return errors.Join(errs...)
}

// listen makes a socket in dir. A path to a socket may have 107 bytes, fewer
// than some directories; the way over /proc is short.
func listen(dir, name string) (fd int, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return -1, err
	}
	defer d.Close()
	if fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, fmt.Errorf("make socket: %w", err)
	}
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join("/proc/self/fd", fmt.Sprint(d.Fd()), name)})
	if err == nil {
		err = unix.Listen(fd, 1)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("listen at %s: %w", filepath.Join(dir, name), err)
	}
	return fd, nil
}

// accept takes the one connection that a socket gets.
func accept(listen int) (*os.File, error) {
	for {
		fd, _, err := unix.Accept4(listen, unix.SOCK_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("accept guest: %w", err)
		}
		return os.NewFile(uintptr(fd), "guest"), nil
	}
}
