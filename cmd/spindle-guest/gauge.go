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

// gaugeStride is how far apart the blocks are.
const gaugeStride = 1 << 20

// gauge reads or writes count different blocks of size bytes of the drive with
// that serial, one after the other and past the page cache, and prints how long
// each took, in ns, as a JSON array. The host knows how long the drive took and
// learns what this guest adds.
func gauge(ctx context.Context, serial, op, count, size string, modules []string, out io.Writer) error {
	call, flags := uintptr(unix.SYS_PREAD64), os.O_RDONLY
	switch op {
	case "read":
	case "write":
		call, flags = unix.SYS_PWRITE64, os.O_WRONLY
	default:
		return fmt.Errorf("gauge %s: op %q: want read or write", serial, op)
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 {
		return fmt.Errorf("gauge %s: count %q: want a number from 1", serial, count)
	}
	block, err := strconv.Atoi(size)
	if err != nil || block < 4096 || block > gaugeStride {
		return fmt.Errorf("gauge %s: size %q: want bytes from 4096 to %d", serial, size, gaugeStride)
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
	f, err := os.OpenFile(d.Node, flags|unix.O_DIRECT, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	took, err := timeCalls(f, call, n, block)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(took)
}

// timeCalls reads or writes blocks as a program in C would. Go's own calls tell its
// scheduler before and after, which costs an emulated CPU a good part of what
// is to be measured.
func timeCalls(f *os.File, call uintptr, n, block int) ([]time.Duration, error) {
	page, err := unix.Mmap(-1, 0, block, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("get memory: %w", err)
	}
	defer unix.Munmap(page)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	took := make([]time.Duration, n)
	for i := range took {
		from := time.Now()
		got, _, errno := syscall.RawSyscall6(call, f.Fd(), uintptr(unsafe.Pointer(&page[0])), uintptr(block), uintptr(i*gaugeStride), 0, 0)
		took[i] = time.Since(from)
		if errno != 0 || got != uintptr(block) {
			return nil, fmt.Errorf("gauge %s at %d: got %d of %d bytes: %w", f.Name(), i*gaugeStride, int64(got), block, errno)
		}
	}
	return took, nil
}
