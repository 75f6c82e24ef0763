package kernels

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Artifact is a kernel in the store. Paths are absolute.
type Artifact struct {
	Dir     string // the entry
	Boot    string // for QEMU's -kernel: the vmlinux with a PVH entry, or the bzImage
	BzImage string
	Modules string // holds lib/modules/VERSION; "" if the kernel came without
	Config  string // "" if it is not known
	Version string // what uname -r says
	Hash    string // identity: SHA-256 over bzImage, config and modules
	Source  string // as resolved: linux-image-6.12.57+deb13-amd64=6.12.57-1, or a path
}

// record is the file kernel.json of an entry.
type record struct {
	Version string `json:"version"`
	Hash    string `json:"hash"`
	Source  string `json:"source"`
	SHA256  string `json:"deb_sha256,omitempty"`
	PVH     bool   `json:"pvh"`
	Modules bool   `json:"modules"`
	Config  string `json:"config,omitempty"` // where it came from
}

const recordName = "kernel.json"

func (r record) write(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", recordName, err)
	}
	return os.WriteFile(filepath.Join(dir, recordName), append(text, '\n'), 0o644)
}

// load reads an entry of the store.
func load(dir string) (Artifact, error) {
	text, err := os.ReadFile(filepath.Join(dir, recordName))
	if err != nil {
		return Artifact{}, fmt.Errorf("open kernel: %w", err)
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return Artifact{}, fmt.Errorf("open kernel: %s: %w", filepath.Join(dir, recordName), err)
	}
	a := Artifact{
		Dir: dir, Version: r.Version, Hash: r.Hash, Source: r.Source,
		BzImage: filepath.Join(dir, "bzImage"),
	}
	a.Boot = a.BzImage
	if r.PVH {
		a.Boot = filepath.Join(dir, "vmlinux")
	}
	if r.Modules {
		a.Modules = filepath.Join(dir, "modules")
	}
	if r.Config != "" {
		a.Config = filepath.Join(dir, "config")
	}
	return a, nil
}

// ReadConfig reads the kernel's configuration; it is nil if that is not known.
func (a Artifact) ReadConfig() (Config, error) {
	if a.Config == "" {
		return nil, nil
	}
	f, err := os.Open(a.Config)
	if err != nil {
		return nil, fmt.Errorf("read kernel configuration: %w", err)
	}
	defer f.Close()
	c, err := ParseConfig(f)
	if err != nil {
		return nil, fmt.Errorf("read kernel configuration %s: %w", a.Config, err)
	}
	return c, nil
}
