package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// syncTree makes a directory and all it holds durable. QEMU and the SFTP
// client wrote most of the files and did not ask for that.
func syncTree(root string) error {
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !e.IsDir() && !e.Type().IsRegular() {
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

// move renames a directory to a name that is not taken and makes it durable.
func move(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("rename %s: %s: %w", from, to, fs.ErrExist)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := syncTree(from); err != nil {
		return fmt.Errorf("sync %s: %w", from, err)
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	// The block's directory may be new, and so may its name in the parent.
	for d := filepath.Dir(to); ; d = filepath.Dir(d) {
		if err := syncDir(d); err != nil {
			return err
		}
		if _, err := os.Lstat(filepath.Join(d, manifestFile)); err == nil || d == filepath.Dir(d) {
			return nil
		}
	}
}
