package vhost

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// Serve serves a machine that notifies by eventfds, as QEMU does, until it hangs
// up, which is no error, or ctx ends. The backend may answer from any goroutine;
// the machine is told at once.
func (c *Conn) Serve(ctx context.Context) error {
	var wake [2]int
	if err := unix.Pipe2(wake[:], unix.O_CLOEXEC); err != nil {
		return fmt.Errorf("serve disk: %w", err)
	}
	defer unix.Close(wake[0])
	defer unix.Close(wake[1])
	stop := context.AfterFunc(ctx, func() { unix.Write(wake[1], []byte{1}) })
	defer stop()
	GuardMemory()
	for {
		fds := []unix.PollFd{{Fd: int32(wake[0]), Events: unix.POLLIN}, {Fd: int32(c.fd), Events: unix.POLLIN}}
		var kicked []*queue
		for _, q := range c.queues {
			if q.kick >= 0 {
				fds = append(fds, unix.PollFd{Fd: int32(q.kick), Events: unix.POLLIN})
				kicked = append(kicked, q)
			}
		}
		switch _, err := unix.Poll(fds, -1); {
		case err == unix.EINTR:
			continue
		case err != nil:
			return fmt.Errorf("serve disk: %w", err)
		case fds[0].Revents != 0:
			return context.Cause(ctx)
		}
		for i, q := range kicked {
			if fds[2+i].Revents&unix.POLLIN == 0 {
				continue
			}
			if err := c.kicked(q); err != nil {
				return fmt.Errorf("serve disk: %w", err)
			}
		}
		if fds[1].Revents == 0 {
			continue
		}
		if err := c.Handle(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("serve disk: %w", err)
		}
	}
}

// kicked serves one notification by eventfd.
func (c *Conn) kicked(q *queue) (err error) {
	defer guard(&err)
	var count [8]byte
	if _, err := unix.Read(q.kick, count[:]); err != nil && err != unix.EAGAIN && err != unix.EINTR {
		return fmt.Errorf("read notification: %w", err)
	}
	return c.drain(q)
}
