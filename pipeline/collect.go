package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"spindle/internal/fault"
	"spindle/internal/store"
	"spindle/kernels/kbuild"
	"spindle/reports/record"
)

// runsDir is where the cache knows runs from: a file for each, with its path.
const runsDir = "runs"

// register notes a run in the cache, so that what it refers to is not removed
// while its directory is there.
func register(env Env, dir string) error {
	dir = absolute(dir)
	into := filepath.Join(env.Cache, runsDir)
	if err := os.MkdirAll(into, 0o755); err != nil {
		return fmt.Errorf("note run: %w", err)
	}
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(dir)))[:16]
	if err := os.WriteFile(filepath.Join(into, name), []byte(dir+"\n"), 0o644); err != nil {
		return fmt.Errorf("note run: %w", err)
	}
	return nil
}

// Garbage says what may be removed.
type Garbage struct {
	Runs    []string      // run directories beside those that the cache knows of
	Unused  time.Duration // what was asked for since stays
	Kernels bool          // only kernels and what they are built in
	DryRun  bool
}

// Removed is one thing that Collect removed, or would.
type Removed struct {
	Path string
	What string // kind, and where it is from
	Size int64  // bytes
}

// Collect removes from the cache what no run refers to and nobody has asked for
// in a while: entries of the store, and the lanes that kernels are built in.
// Runs refer to kernels, images and guest programs by the hashes in their
// manifests. Everything that is removed can be made again; a kernel that was
// fetched or built from what is no longer there is one that cannot, which is
// why runs keep theirs.
//
// tell is called for each thing.
func Collect(ctx context.Context, env Env, g Garbage, tell func(Removed)) error {
	wanted, err := env.wanted(g.Runs)
	if err != nil {
		return fmt.Errorf("collect garbage: %w", err)
	}
	entries, err := env.Store.List()
	if err != nil {
		return err
	}
	before := env.Now().Add(-g.Unused)
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if e.Used.After(before) || g.Kernels && e.Kind != "kernel" && e.Kind != "tarball" || wanted.any(e) {
			continue
		}
		r := Removed{Path: e.Dir, What: e.Kind + sourceOf(e)}
		if r.Size, err = e.Size(); err != nil {
			return err
		}
		if !g.DryRun {
			gone, err := env.Store.Remove(ctx, e)
			if err != nil {
				return err
			}
			if !gone {
				continue
			}
		}
		tell(r)
	}
	return env.collectLanes(ctx, g, before, tell)
}

func (e Env) collectLanes(ctx context.Context, g Garbage, before time.Time, tell func(Removed)) error {
	lanes, err := kbuild.Lanes(filepath.Join(e.Cache, "kernels"))
	if err != nil {
		return err
	}
	for _, l := range lanes {
		if l.Used.After(before) {
			continue
		}
		r := Removed{Path: l.Dir, What: fmt.Sprintf("lane of linux %s for %s, %s", l.Series, l.Arch, l.Compiler)}
		if r.Size, err = store.Usage(l.Dir); err != nil {
			return err
		}
		if !g.DryRun {
			gone, err := l.Remove(ctx)
			if err != nil {
				return fmt.Errorf("remove lane: %w", err)
			}
			if !gone {
				continue
			}
		}
		tell(r)
	}
	return nil
}

// hashes are those that manifests name.
type hashes map[string]bool

// wanted reads the manifests of all runs that are known. A run whose directory
// is gone is forgotten. One that cannot be read ends it all: what it refers to
// is not known.
func (e Env) wanted(dirs []string) (hashes, error) {
	want := hashes{}
	for _, dir := range dirs {
		if err := want.run(dir); err != nil {
			return nil, err
		}
	}
	known, err := os.ReadDir(filepath.Join(e.Cache, runsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, k := range known {
		note := filepath.Join(e.Cache, runsDir, k.Name())
		text, err := os.ReadFile(note)
		if err != nil {
			return nil, err
		}
		dir := string(text[:max(0, len(text)-1)])
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			os.Remove(note)
			continue
		}
		if err := want.run(dir); err != nil {
			return nil, &fault.Error{Kind: fault.Of(err), Err: err, Hint: "if the run is of no use any more, remove its directory"}
		}
	}
	return want, nil
}

func (h hashes) run(dir string) error {
	r, err := record.Open(dir)
	if err != nil {
		return err
	}
	m := r.Manifest()
	for _, k := range m.Kernels {
		h[k.Hash] = true
	}
	h[m.Image.Hash], h[m.Image.GuestHash] = true, true
	delete(h, "")
	return nil
}

// any says whether one of the hashes is what an entry holds.
func (h hashes) any(e store.Entry) bool {
	for _, name := range []string{"kernel.json", "image.json"} {
		text, err := os.ReadFile(filepath.Join(e.Dir, name))
		var said struct {
			Hash string `json:"hash"`
		}
		if err == nil && json.Unmarshal(text, &said) == nil && h[said.Hash] {
			return true
		}
	}
	return e.Kind == "guest" && h[fileHash(filepath.Join(e.Dir, "spindle-guest"))]
}

// sourceOf gives what went into an entry that a person would know it by.
func sourceOf(e store.Entry) string {
	text, err := os.ReadFile(filepath.Join(e.Dir, "kernel.json"))
	var said struct {
		Source string `json:"source"`
	}
	if err == nil && json.Unmarshal(text, &said) == nil {
		return " " + said.Source
	}
	return ""
}
