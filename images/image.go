package images

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"spindle/internal/debian"
	"spindle/internal/fault"
	"spindle/internal/progress"
	"spindle/internal/store"
)

// Env is what making images takes from its surroundings.
type Env struct {
	Store   *store.Store
	Archive debian.Archive // its suites do not count, they are for kernels
	Log     *progress.Log

	// Executable is the running program, beside which spindle-guest may lie;
	// "" asks the system. Source is the directory of spindle's module, to build
	// it from; "" looks for it.
	Executable, Source string
}

// Image is a root file system in the store.
type Image struct {
	Dir      string            `json:"-"`        // the entry
	Root     string            `json:"-"`        // path of root.squashfs
	Hash     string            `json:"hash"`     // its SHA-256
	Packages map[string]string `json:"packages"` // all that is installed: name -> version
	Suite    string            `json:"suite"`
	Built    time.Time         `json:"built"`
	Mode     string            `json:"mode"` // of mmdebstrap
	Tool     string            `json:"tool"` // version of mksquashfs, on which the bytes depend
}

// recipe changes when the same spec makes another image than before.
const recipe = "1"

// stale is the age at which an image that is not pinned is worth a second
// thought.
const stale = 30 * 24 * time.Hour

// Make gives the image of a spec. It is made if it is not in the store yet;
// see the package's text for when that is.
func Make(ctx context.Context, env Env, s Spec) (Image, error) {
	if s.File != "" {
		image, err := fromFile(ctx, env, s)
		if err != nil {
			return Image{}, fmt.Errorf("make image from %s: %w", s.File, err)
		}
		return image, nil
	}
	return build{spec: s, base: basePackages, variant: "minbase", mode: mode(os.Geteuid())}.make(ctx, env)
}

func (b build) make(ctx context.Context, env Env) (Image, error) {
	image, err := b.entry(ctx, env)
	if err != nil {
		return Image{}, fmt.Errorf("make image %s: %w", b.spec, err)
	}
	return image, nil
}

func (b build) entry(ctx context.Context, env Env) (Image, error) {
	if err := b.spec.Validate(); err != nil {
		return Image{}, fault.Planf("%w", err)
	}
	archive := env.Archive
	if b.spec.Snapshot != "" {
		if archive.Mirror != "" || archive.Security != "" {
			return Image{}, fault.Planf("snapshot %s: comes from snapshot.debian.org, but the plan names a mirror of its own", b.spec.Snapshot)
		}
		archive.Snapshot = b.spec.Snapshot
	}
	if err := archive.Validate(); err != nil {
		return Image{}, fault.Planf("debian archive: %w", err)
	}
	full := archive.Filled()
	key, err := store.NewKey("image").
		Field("recipe", recipe).
		Field("variant", b.variant).
		Field("suite", b.spec.suite()).
		Field("packages", strings.Join(b.spec.all(b.base), " ")).
		Field("mirror", full.Mirror).
		Field("security", full.Security).
		Field("arch", full.Arch).
		Sum()
	if err != nil {
		return Image{}, err
	}
	_, had := env.Store.Get(key)
	dir, err := env.Store.Make(ctx, key, func(ctx context.Context, dir string) error {
		return b.fill(ctx, env, archive, dir)
	})
	if err != nil {
		return Image{}, err
	}
	image, err := open(dir)
	if err == nil && had {
		image.mention(env.Log, time.Now(), archive.Snapshot != "")
	}
	return image, err
}

const recordName = "image.json"

func (i Image) write(dir string) error {
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", recordName, err)
	}
	return os.WriteFile(filepath.Join(dir, recordName), append(text, '\n'), 0o644)
}

func open(dir string) (Image, error) {
	text, err := os.ReadFile(filepath.Join(dir, recordName))
	if err != nil {
		return Image{}, fmt.Errorf("open image: %w", err)
	}
	i := Image{Dir: dir, Root: filepath.Join(dir, rootName)}
	if err := json.Unmarshal(text, &i); err != nil {
		return Image{}, fmt.Errorf("open image: %s: %w", filepath.Join(dir, recordName), err)
	}
	return i, nil
}

// mention says how old an image is that is used again.
func (i Image) mention(log *progress.Log, now time.Time, pinned bool) {
	age := now.Sub(i.Built)
	text := fmt.Sprintf("image: %s as of %s, %d packages", i.Suite, i.Built.Format("2006-01-02"), len(i.Packages))
	if !pinned && age > stale {
		text += fmt.Sprintf("; that is %d days ago, remove %s to have it made anew", int(age/(24*time.Hour)), i.Dir)
	}
	log.Printf("%s", text)
}
