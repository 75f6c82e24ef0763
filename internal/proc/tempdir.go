package proc

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
)

// tempName is what TempDir calls its directories, and what Sweep looks for.
var tempName = regexp.MustCompile(`\.tmp-[0-9a-f]{16}$`)

// TempDir makes a directory PARENT/PATTERN.tmp-<16 hex digits> with mode 0700.
// It is removed by remove, or by the guardian when this process dies before.
//
// A lock on the directory tells Sweep in other processes that it is in use, so
// parent must be on a file system with flock(2) locks for directories: any
// local one, not NFS.
//
// The function remove may be called more than once, also after it failed. It removes files of
// subordinate user ids too, which an ordinary user gets by building a root file
// system in a user namespace. If it fails the guardian tries again at our end.
func TempDir(ctx context.Context, parent, pattern string) (dir string, remove func() error, err error) {
	fail := func(err error) (string, func() error, error) {
		return "", nil, fmt.Errorf("make temporary directory in %s: %w", parent, err)
	}
	if err := ctx.Err(); err != nil {
		return fail(context.Cause(ctx))
	}
	for {
		suffix := make([]byte, 8)
		rand.Read(suffix)
		dir = filepath.Join(parent, pattern+".tmp-"+hex.EncodeToString(suffix))
		line, err := pathLine("dir", dir)
		if err != nil {
			return fail(err)
		}
		dir = line[len("dir "):]
		if err := os.Mkdir(dir, 0o700); errors.Is(err, os.ErrExist) {
			continue
		} else if err != nil {
			return fail(err)
		}
		lock, err := lockDir(dir)
		if errors.Is(err, errInUse) || errors.Is(err, os.ErrNotExist) {
			continue // a Sweep took it for a dead one's, between our two calls
		}
		if err == nil {
			err = theGuard().hold(line, lock)
		}
		if err != nil {
			os.Remove(dir)
			return fail(err)
		}
		var mu sync.Mutex
		removed := false
		return dir, func() error {
			mu.Lock()
			defer mu.Unlock()
			if removed {
				return nil
			}
			if err := wipe(context.WithoutCancel(ctx), dir); err != nil {
				return err
			}
			removed = true
			theGuard().release(line)
			return lock.Close()
		}, nil
	}
}

// Sweep removes the directories that TempDir made in parent for processes that
// are dead, and gives their paths. The guardian leaves none behind unless it was
// killed too, or the host stopped.
func Sweep(ctx context.Context, parent string) (removed []string, err error) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || !tempName.MatchString(e.Name()) {
			continue
		}
		dir, err := filepath.Abs(filepath.Join(parent, e.Name()))
		if err != nil {
			return removed, err
		}
		lock, err := lockDir(dir)
		if err != nil {
			continue // in use, or gone
		}
		if err := wipe(ctx, dir); err != nil {
			errs = append(errs, fmt.Errorf("sweep: %w", err))
		} else {
			removed = append(removed, dir)
		}
		lock.Close()
	}
	return removed, errors.Join(errs...)
}

var errInUse = errors.New("in use by another process")

// lockDir takes the lock of a directory without waiting. The lock ends with
// the file it gives, or with us.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		// Whoever held the lock may have removed the directory.
		var held, there os.FileInfo
		if held, err = f.Stat(); err == nil {
			if there, err = os.Lstat(dir); err == nil && !os.SameFile(held, there) {
				err = errInUse
			}
		}
	} else if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errInUse
	} else {
		err = fmt.Errorf("lock %s: %w (a network file system? choose a local directory)", dir, err)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// wipe removes a directory the way the guardian does it.
func wipe(ctx context.Context, dir string) error {
	out, err := Run(ctx, Cmd{Path: "/bin/sh", Args: []string{"-c", guardScript, "spindle-guard", "wipe", dir}, Dir: "/"})
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("remove %s: %w", dir, err)
		}
		return fmt.Errorf("remove %s: %s", dir, strings.Join(lastLines(string(out.Stderr), 3), "; "))
	}
	return nil
}
