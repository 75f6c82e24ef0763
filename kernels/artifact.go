package kernels

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Artifact is a kernel in the store. Paths are absolute.
type Artifact struct {
	Dir     string // the entry
	Arch    string // x86_64, or um
	Boot    string // for QEMU's -kernel: the vmlinux with a PVH entry, or the bzImage; for um the program linux
	BzImage string // "" for um
	Modules string // holds lib/modules/VERSION; "" if the kernel came without
	Config  string // "" if it is not known
	Version string // what uname -r says
	Hash    string // identity: SHA-256 over bzImage, config and modules
	Source  string // as resolved: linux-image-6.12.57+deb13-amd64=6.12.57-1, or a path
	Build   *Build // how it was built here; nil if it was not
}

// Build is how a kernel was built from source code.
type Build struct {
	Commit   string   `json:"commit"`            // with the series applied; the same for the same patches everywhere
	Tree     string   `json:"tree"`              // git's id of the files
	Base     string   `json:"base"`              // the commit below the series
	Patches  []Patch  `json:"patches,omitempty"` // in order
	Own      []Patch  `json:"own,omitempty"`     // spindle's own, on top, for um
	Dirty    bool     `json:"dirty,omitempty"`   // a working tree with changes: see dirty.diff
	Arch     string   `json:"arch"`              //
	Parts    []string `json:"config"`            // as asked for
	Absent   []string `json:"absent,omitempty"`  // symbols that fragments ask for and the tree does not have
	Unmet    []string `json:"unmet,omitempty"`   // symbols that did not become what fragments ask for, and why
	Compiler string   `json:"compiler"`          // the first line of cc --version
	Flags    []string `json:"flags,omitempty"`   // variables of make beyond those of every build
	Notes    []string `json:"notes,omitempty"`   // what a reader should know of this build
}

// Patch is a patch of a series.
type Patch struct {
	Subject string `json:"subject"`
	Commit  string `json:"commit"`
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
	Arch    string `json:"arch,omitempty"`   // "" is x86_64
	Build   *Build `json:"build,omitempty"`
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
		Dir: dir, Version: r.Version, Hash: r.Hash, Source: r.Source, Build: r.Build,
		Arch: cmp.Or(r.Arch, "x86_64"), Boot: filepath.Join(dir, "bzImage"),
	}
	if a.Arch == "um" {
		a.Boot = filepath.Join(dir, "linux")
	} else {
		a.BzImage = a.Boot
	}
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
