package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"spindle/internal/proc"
)

// Remove removes an entry. It goes out of sight at once, by a rename, so that
// nobody finds half of it. An entry that was asked for since e was listed, or
// that is being made, stays: removed is false then.
//
// Whoever uses an entry holds no lock on it. Callers remove what nobody asked
// for in a long time.
func (s *Store) Remove(ctx context.Context, e Entry) (removed bool, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("remove %s %.12s: %w", e.Kind, e.Hash, err)
		}
	}()
	quick, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	unlock, err := lock(quick, e.Dir+".lock")
	if err != nil {
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			return false, nil
		}
		return false, err
	}
	defer unlock()
	info, err := os.Stat(e.Dir + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || info.ModTime().After(e.Used) {
		return false, err
	}
	temp, wipe, err := proc.TempDir(ctx, filepath.Dir(e.Dir), e.Hash)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, wipe()) }()
	if err := os.Rename(e.Dir, filepath.Join(temp, "tree")); err != nil {
		return false, err
	}
	return true, os.Remove(e.Dir + ".json")
}

// Size gives the bytes that an entry takes on the disk.
func (e Entry) Size() (int64, error) { return Usage(e.Dir) }

// Usage gives the bytes that a directory takes on the disk, links counted once.
func Usage(dir string) (int64, error) {
	var total int64
	type inode struct{ dev, ino uint64 }
	seen := map[inode]bool{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // went while we looked
			}
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return nil
		}
		if id := (inode{uint64(st.Dev), st.Ino}); !seen[id] {
			seen[id] = true
			total += st.Blocks * 512
		}
		return nil
	})
	return total, err
}
