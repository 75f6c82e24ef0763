package kernels

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"spindle/internal/debian"
	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/store"
)

// fromDeb gives the entry of a kernel package.
func fromDeb(ctx context.Context, env Env, s Source) (dir string, err error) {
	name, version, _ := strings.Cut(s.Deb, "=")
	if version != "" {
		key, err := debKey(env.Archive, name, version)
		if err != nil {
			return "", err
		}
		if dir, ok := env.Store.Get(key); ok {
			return dir, nil
		}
	}
	root, err := debian.OpenRoot(ctx, env.AptDir, env.Archive, env.Log)
	if err != nil {
		return "", err
	}
	p, err := root.Resolve(ctx, name, version)
	if err != nil {
		return "", err
	}
	key, err := debKey(env.Archive, p.Name, p.Version)
	if err != nil {
		return "", err
	}
	return env.Store.Make(ctx, key, func(ctx context.Context, dir string) error {
		return unpackDeb(ctx, root, p, dir)
	})
}

// debKey names the entry of a package. That a name and a version mean the same
// bytes for ever is Debian's promise; the mirrors are in the key because a
// house's own archive might not keep it. The package's hash is not, so that a
// version that left the archive is still found.
func debKey(a debian.Archive, name, version string) (store.Key, error) {
	full := a.Filled()
	if a.Snapshot != "" {
		// The same packages as the archive itself.
		full = debian.Archive{Arch: a.Arch}.Filled()
	}
	return store.NewKey("kernel").
		Field("recipe", recipe).
		Field("mirror", full.Mirror).
		Field("security", full.Security).
		Field("arch", full.Arch).
		Field("deb", name+"="+version).
		Sum()
}

// unpackDeb fetches a package and makes an entry of it.
func unpackDeb(ctx context.Context, root *debian.Root, p debian.Package, dir string) error {
	// Inside the entry, since a rename must not cross file systems.
	temp := filepath.Join(dir, "unpack")
	if err := os.Mkdir(temp, 0o755); err != nil {
		return err
	}
	deb, err := root.Fetch(ctx, p, temp)
	if err != nil {
		return err
	}
	tree := filepath.Join(temp, "tree")
	if _, err := proc.Run(ctx, proc.Cmd{Path: "dpkg-deb", Args: []string{"--extract", deb, tree}}); err != nil {
		return fmt.Errorf("unpack %s: %w", p, err)
	}
	images, err := filepath.Glob(filepath.Join(tree, "boot", "vmlinuz-*"))
	if err != nil || len(images) != 1 {
		return fault.Planf("package %s has %d files boot/vmlinuz-*: it is no kernel", p, len(images))
	}
	version := strings.TrimPrefix(filepath.Base(images[0]), "vmlinuz-")
	parts := []struct{ from, to string }{
		{images[0], "bzImage"},
		{filepath.Join(tree, "boot", "config-"+version), "config"},
	}
	for _, part := range parts {
		if err := os.Rename(part.from, filepath.Join(dir, part.to)); err != nil {
			return fmt.Errorf("package %s: %w", p, err)
		}
	}
	// Since trixie, packages have their modules below usr.
	installed, err := moduleDir(tree, version)
	if err != nil {
		return fmt.Errorf("package %s: %w", p, err)
	}
	into := filepath.Join(dir, "modules", "lib", "modules")
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	if err := os.Rename(installed, filepath.Join(into, version)); err != nil {
		return err
	}
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	r := record{Source: p.String(), SHA256: p.SHA256, Config: "package", Modules: true}
	got, err := finish(ctx, dir, r)
	if err == nil && got != version {
		err = errors.New("package " + p.String() + ": boot/vmlinuz-" + version + " says that it is " + got)
	}
	return err
}
