package kernels

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"spindle/internal/debian"
	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/kernels/tree"
)

// codeOfDeb gives the source in a package linux-source-..., which has it as a
// tarball.
func codeOfDeb(ctx context.Context, env Env, t tree.Env, deb string) (tree.Base, error) {
	name, version, _ := strings.Cut(deb, "=")
	imported := func(version string) string {
		key, err := debKey(env.Archive, name, version)
		if err != nil {
			return ""
		}
		return "deb " + key.Hash()
	}
	if version != "" {
		if b, ok := t.Imported(ctx, imported(version)); ok {
			b.Name = deb
			return b, nil
		}
	}
	root, err := debian.OpenRoot(ctx, env.AptDir, env.Archive, env.Log)
	if err != nil {
		return tree.Base{}, err
	}
	p, err := root.Resolve(ctx, name, version)
	if err != nil {
		return tree.Base{}, err
	}
	if b, ok := t.Imported(ctx, imported(p.Version)); ok {
		b.Name = p.String()
		return b, nil
	}
	parent := filepath.Join(env.builds(), "tmp")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return tree.Base{}, err
	}
	temp, remove, err := proc.TempDir(ctx, parent, "deb")
	if err != nil {
		return tree.Base{}, err
	}
	defer remove()
	file, err := root.Fetch(ctx, p, temp)
	if err != nil {
		return tree.Base{}, err
	}
	into := filepath.Join(temp, "tree")
	if _, err := proc.Run(ctx, proc.Cmd{Path: "dpkg-deb", Args: []string{"--extract", file, into}}); err != nil {
		return tree.Base{}, fmt.Errorf("unpack %s: %w", p, err)
	}
	tarballs, err := filepath.Glob(filepath.Join(into, "usr", "src", "linux-source-*.tar.*"))
	if err != nil || len(tarballs) != 1 {
		return tree.Base{}, fault.Planf("package %s holds no source: it has %d files usr/src/linux-source-*.tar.*", p, len(tarballs))
	}
	b, err := t.Import(ctx, imported(p.Version), tarballs[0])
	b.Name = p.String()
	return b, err
}

func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return fmt.Sprintf("%x", h.Sum(nil)), err
}

// writeSum writes a file and gives its SHA-256.
func writeSum(path string, r io.Reader) (string, error) {
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, h), r)
	return fmt.Sprintf("%x", h.Sum(nil)), errors.Join(err, f.Close())
}
