package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"spindle/workloads/blockdev"
)

// gauge reads count different blocks of 4 KiB of the drive with that serial,
// one after the other and past the page cache, and prints how long each read
// took, in ns, as a JSON array. The host knows how long the drive took and
// learns what this guest adds.
func gauge(ctx context.Context, serial, count string, modules []string, out io.Writer) error {
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 {
		return fmt.Errorf("gauge %s: count %q: want a number from 1", serial, count)
	}
	if len(modules) > 0 {
		l, err := guestLoader()
		if err != nil {
			return err
		}
		if _, err := l.Load(modules...); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, rootLimit, errors.New("not there in time"))
	defer cancel()
	d, err := blockdev.Find(ctx, "/sys", "/dev", serial)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(d.Node, os.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	took, err := timeReads(f, n)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(took)
}

// timeReads reads blocks as a program in C would. Go's own read tells its
// scheduler before and after, which costs an emulated CPU a good part of what
// is to be measured.
func timeReads(f *os.File, n int) ([]time.Duration, error) {
	const block, stride = 4096, 1 << 20
	page, err := unix.Mmap(-1, 0, block, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("get a page: %w", err)
	}
	defer unix.Munmap(page)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	took := make([]time.Duration, n)
	for i := range took {
		from := time.Now()
		got, _, errno := syscall.RawSyscall6(unix.SYS_PREAD64, f.Fd(), uintptr(unsafe.Pointer(&page[0])), block, uintptr(i*stride), 0, 0)
		took[i] = time.Since(from)
		if errno != 0 || got != block {
			return nil, fmt.Errorf("read %s at %d: got %d bytes, %w", f.Name(), i*stride, got, errno)
		}
	}
	return took, nil
}
