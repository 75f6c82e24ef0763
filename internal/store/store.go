package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"spindle/internal/proc"
)

// Store is a directory of entries.
type Store struct{ dir string }

// tag marks the directory as one that need not be backed up. The content is
// that of https://bford.info/cachedir/.
const tag = "Signature: 8a477f597d28d172789f06886806bc55\n" +
	"# spindle keeps here what it can make again.\n"

// Open opens a store, and makes its directory if need be.
func Open(dir string) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	name := filepath.Join(dir, "CACHEDIR.TAG")
	if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
		if err := os.WriteFile(name, []byte(tag), 0o644); err != nil {
			return nil, fmt.Errorf("open store: %w", spaceHint(dir, err))
		}
	}
	return &Store{dir}, nil
}

// Dir gives the absolute path of the store.
func (s *Store) Dir() string { return s.dir }

func (s *Store) path(k Key) string { return filepath.Join(s.dir, k.kind, k.hash) }

// Get gives the directory of an entry, if it is there. That it was asked for is
// noted, as the time of HASH.json, for those who remove what nobody uses.
func (s *Store) Get(k Key) (dir string, ok bool) {
	if k == (Key{}) {
		return "", false
	}
	dir = s.path(k)
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return dir, false
	}
	now := time.Now()
	os.Chtimes(dir+".json", now, now) // a store that may only be read serves all the same
	return dir, true
}

// Make gives the directory of an entry, and builds it if it is not there.
//
// The build function fills the directory that it is given, which is in the
// store's file system and has mode 0755. It must not keep that path: the
// directory is renamed afterwards. If build fails, or this process ends, nothing
// is left; the error of build comes back wrapped, so that its fault kind stays.
// If another goroutine or process builds the same entry, Make waits for it, or
// for ctx.
//
// The new entry is made durable with one syncfs(2). That writes out everything
// that is dirty in the file system, not only the entry, but for a tree of
// thousands of files it is much faster than an fsync for each.
func (s *Store) Make(ctx context.Context, k Key, build func(ctx context.Context, dir string) error) (dir string, err error) {
	if k == (Key{}) {
		return "", errors.New("make entry: zero key")
	}
	if dir, ok := s.Get(k); ok {
		return dir, nil
	}
	defer func() {
		if err != nil {
			dir, err = "", fmt.Errorf("make %s %.12s: %w", k.kind, k.hash, spaceHint(s.dir, err))
		}
	}()
	final := s.path(k)
	parent := filepath.Dir(final)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(ctx, final+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if dir, ok := s.Get(k); ok {
		return dir, nil // built while we waited
	}
	if _, err := proc.Sweep(ctx, parent); err != nil {
		return "", err
	}
	temp, remove, err := proc.TempDir(ctx, parent, k.hash)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, remove()) }()
	tree := filepath.Join(temp, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return "", err
	}
	// Builders of root file systems run as subordinate user ids, which must get through.
	if err := os.Chmod(temp, 0o755); err != nil {
		return "", err
	}
	if err := build(ctx, tree); err != nil {
		return "", err
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	description := filepath.Join(temp, "entry.json")
	if err := writeEntry(description, k); err != nil {
		return "", err
	}
	if err := syncFS(temp); err != nil {
		return "", err
	}
	// The description goes first, so that an entry always has one.
	if err := os.Rename(description, final+".json"); err != nil {
		return "", err
	}
	if err := os.Rename(tree, final); err != nil {
		return "", err
	}
	return final, syncDir(parent)
}
