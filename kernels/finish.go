package kernels

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"spindle/internal/fault"
	"spindle/internal/proc"
)

// finish completes an entry that has bzImage and perhaps config and modules:
// with the vmlinux for PVH, with what depmod says, with the kernel's hash. It
// gives the version.
func finish(ctx context.Context, dir string, r record) (version string, err error) {
	if r.Arch != "um" { // which is a program, and says its version only when it runs
		if err := r.open(ctx, dir); err != nil {
			return "", err
		}
	}
	if r.Hash, err = identity(dir, r.Version); err != nil {
		return "", err
	}
	if r.Modules {
		if err := depmod(ctx, filepath.Join(dir, "modules"), r.Version); err != nil {
			return "", err
		}
	}
	if err := r.write(dir); err != nil {
		return "", err
	}
	return r.Version, settle(dir)
}

// open reads the bzImage of an entry: its version, and the vmlinux for PVH.
func (r *record) open(ctx context.Context, dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "bzImage"))
	if err != nil {
		return err
	}
	image, err := parseImage(data)
	if err != nil {
		return err
	}
	r.Version = image.version
	vmlinux, err := image.vmlinux(ctx)
	if err != nil {
		return err
	}
	if b := r.Build; b != nil && len(b.Tree) >= treeDigits && vmlinux != nil && !bytes.Contains(vmlinux, []byte("#"+b.Tree[:treeDigits])) {
		// uname -v names the tree: see kbuild. Measured under another's name a
		// kernel would be worse than none.
		return &fault.Error{Kind: fault.Machinery, Reason: "stale-build",
			Err:  fmt.Errorf("the image that was built is not of tree %.12s: its uname -v does not name it", b.Tree),
			Hint: "this is a fault of spindle's or of the host's build tools; spindle gc removes what earlier builds left"}
	}
	if r.PVH = hasPVH(vmlinux); r.PVH {
		return os.WriteFile(filepath.Join(dir, "vmlinux"), vmlinux, 0o644)
	}
	return nil
}

// identity hashes what makes a kernel: bzImage (for um linux), configuration and modules, each
// with its name and length. What depmod writes is left out, since it differs
// between versions of kmod.
func identity(dir, version string) (string, error) {
	var names []string
	for _, name := range []string{"bzImage", "linux", "config"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			names = append(names, name)
		}
	}
	tree := filepath.Join("modules", "lib", "modules", version)
	if _, err := os.Stat(filepath.Join(dir, tree)); err == nil {
		modules, err := moduleFiles(filepath.Join(dir, tree))
		if err != nil {
			return "", err
		}
		for _, m := range modules {
			names = append(names, filepath.Join(tree, m))
		}
	}
	slices.Sort(names)
	h := sha256.New()
	for _, name := range names {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		one := sha256.New()
		_, err = io.Copy(one, f)
		f.Close()
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%x  %s\n", one.Sum(nil), name) // as sha256sum prints it
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// depmod writes modules.dep and its like, which packages leave to the host
// that they are installed on.
func depmod(ctx context.Context, base, version string) error {
	// Some builds of kmod look below usr/lib only.
	usr := filepath.Join(base, "usr")
	if err := os.Symlink(".", usr); err != nil {
		return err
	}
	defer os.Remove(usr)
	if _, err := proc.Run(ctx, proc.Cmd{Path: "depmod", Args: []string{"--basedir", base, version}}); err != nil {
		return fmt.Errorf("list module dependencies: %w", err)
	}
	return nil
}

// settle gives all files of an entry plain permissions, programs theirs, and one time, so that
// two entries can be compared by any means.
func settle(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		switch {
		case d.IsDir(), d.Name() == "linux" && filepath.Dir(path) == dir:
			mode = 0o755
		case !d.Type().IsRegular():
			return nil
		}
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
		return os.Chtimes(path, time.Unix(0, 0), time.Unix(0, 0))
	})
}

// moduleDir finds the modules of one version: in a root directory, in a
// /lib/modules, or given as such.
func moduleDir(dir, version string) (string, error) {
	tried := []string{
		filepath.Join(dir, "lib", "modules", version),
		filepath.Join(dir, "usr", "lib", "modules", version),
		filepath.Join(dir, version),
	}
	for _, d := range tried {
		if info, err := os.Stat(d); err == nil && info.IsDir() {
			return filepath.EvalSymlinks(d)
		}
	}
	for _, name := range []string{"modules.order", "kernel"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			if full, err := filepath.Abs(dir); err == nil && filepath.Base(full) != version {
				return "", fmt.Errorf("%s are those of %s, the bzImage is %s", dir, filepath.Base(full), version)
			}
			return filepath.EvalSymlinks(dir)
		}
	}
	if _, err := os.Stat(dir); err != nil {
		return "", err
	}
	return "", fmt.Errorf("none for %s in %s: looked for %s", version, dir, strings.Join(tried, ", "))
}

// fromDepmod tells what depmod writes from what a kernel's build installs.
func fromDepmod(name string) bool {
	switch name {
	case "modules.order", "modules.builtin", "modules.builtin.modinfo":
		return false
	}
	return strings.HasPrefix(name, "modules.")
}

// moduleFiles lists what a kernel's build has installed in its module
// directory, relative to it and sorted. Links (build, source) are left out.
func moduleFiles(tree string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(tree, path)
		if err == nil && d.Type().IsRegular() && !fromDepmod(name) {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list modules: %w", err)
	}
	slices.Sort(out)
	return out, nil
}
