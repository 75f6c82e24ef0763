package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"spindle/internal/fault"
)

// noticeAfter is how long a wait may last before anybody is told.
const noticeAfter = time.Second

type noticeKey struct{}

// WithNotice has Make and Lock tell, once for each wait of more than a second, what
// they wait for: another process may be at it for an hour.
func WithNotice(ctx context.Context, notice func(path string)) context.Context {
	return context.WithValue(ctx, noticeKey{}, notice)
}

// Lock takes an exclusive lock on a file beside the store, by which processes
// share what is no entry (an object tree, a repository). It is as Make's own
// locks are.
func Lock(ctx context.Context, path string) (unlock func() error, err error) {
	return lock(ctx, path)
}

// lock takes an exclusive lock on a file, which is made if need be. The kernel
// releases it when this process ends. The file stays: to remove it would need
// a second lock. It is polled because flock(2) cannot be interrupted by a
// context; a wait is for a build of seconds to hours, so a quarter of a second
// more is nothing.
func lock(ctx context.Context, path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	told := time.Now().Add(noticeAfter)
	for pause := time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return f.Close, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			return nil, fmt.Errorf("lock %s: %w (a network file system? choose a local directory)", path, err)
		}
		if notice, ok := ctx.Value(noticeKey{}).(func(string)); ok && !told.IsZero() && time.Now().After(told) {
			notice(strings.TrimSuffix(path, ".lock"))
			told = time.Time{}
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("wait for another process to build it: %w", context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

// syncFS writes the whole file system that holds dir to its disk, and reports
// write errors (since Linux 5.8).
func syncFS(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return &os.PathError{Op: "sync file system of", Path: dir, Err: err}
	}
	return nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// spaceHint says what to do if err means that the disk is full.
func spaceHint(dir string, err error) error {
	if !fault.DiskFull(err) || fault.Hint(err) != "" {
		return err
	}
	return &fault.Error{
		Kind:   fault.Machinery,
		Reason: "disk-full",
		Err:    err,
		Hint:   "free some space in " + dir + ", or choose a cache directory on a larger disk",
	}
}
