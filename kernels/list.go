package kernels

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"spindle/internal/fault"
	"spindle/internal/store"
	"spindle/kernels/tree"
)

// List gives the kernels in a store.
func List(s *store.Store) ([]Artifact, error) {
	entries, err := s.List()
	if err != nil {
		return nil, err
	}
	var out []Artifact
	for _, e := range entries {
		if e.Kind != "kernel" {
			continue
		}
		a, err := load(e.Dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed while we looked
		}
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// Fetch brings here what a source is made of, as far as that is elsewhere, and
// gives its name: a commit, a tarball, a package. Nothing is built; the series
// is not looked at.
func Fetch(ctx context.Context, env Env, s Source) (name string, err error) {
	if err := s.Validate(); err != nil {
		return "", fault.Planf("kernel %s: %w", s, err)
	}
	if !s.Builds() {
		a, err := Make(ctx, env, s)
		return a.Source, err
	}
	if err := s.here(); err != nil {
		return "", s.of(err)
	}
	b, err := s.base(ctx, env, tree.Env{Dir: env.builds(), Log: env.Log})
	if err != nil {
		return "", s.of(err)
	}
	return b.Name, nil
}

// CopyTo writes the kernel's files to a directory, which may be there already:
// bzImage or linux, vmlinux, config, modules, and what is known of the build.
func (a Artifact) CopyTo(dir string) error {
	err := filepath.WalkDir(a.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(a.Dir, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, name)
		if err := copyFile(to+".new", path); err != nil {
			return err
		}
		if info, err := d.Info(); err == nil {
			if err := os.Chmod(to+".new", info.Mode().Perm()); err != nil {
				return err
			}
		}
		return os.Rename(to+".new", to)
	})
	if err != nil {
		return fmt.Errorf("copy kernel: %w", err)
	}
	return nil
}

// Open gives the kernel of an entry of the store, by its directory.
func Open(dir string) (Artifact, error) { return load(dir) }
