package debian

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"spindle/internal/fault"
)

// Fetch downloads a package into a directory and gives the path of the .deb.
// What it gives has the SHA256 that Resolve found.
func (r *Root) Fetch(ctx context.Context, p Package, dir string) (path string, err error) {
	defer func() {
		if err != nil && fault.Hint(err) == "" {
			e := fault.New(fault.Of(err), "download", err)
			e.Hint = "is " + r.archive.Mirror + " reachable? http_proxy in the environment names a proxy, debian: {mirror: URL} in the plan another mirror"
			err = e
		}
	}()
	if dir, err = filepath.Abs(dir); err != nil {
		return "", fmt.Errorf("fetch %s: %w", p, err)
	}
	// apt-get download writes into the working directory and leaves pieces
	// there if it fails.
	temp, err := os.MkdirTemp(dir, ".fetch-")
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", p, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()

	r.log.Printf("apt: fetching %s (%d MB)", p, (p.Size+500_000)/1_000_000)
	if err := r.download(ctx, p, temp); err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(temp, "*.deb"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("fetch %s: apt-get download gave %d files", p, len(found))
	}
	sum, err := sha256File(found[0])
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", p, err)
	}
	if sum != p.SHA256 {
		return "", fmt.Errorf("fetch %s: the file has SHA256 %s, the signed list says %s", p, sum, p.SHA256)
	}
	path = filepath.Join(dir, filepath.Base(found[0]))
	if err := os.Rename(found[0], path); err != nil {
		return "", fmt.Errorf("fetch %s: %w", p, err)
	}
	return path, nil
}

func (r *Root) download(ctx context.Context, p Package, dir string) error {
	unlock, err := r.lock(ctx, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := r.apt(ctx, dir, "apt-get", "-q", "download", p.String()); err != nil {
		return fmt.Errorf("fetch %s: %w", p, err)
	}
	return nil
}

func sha256File(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
