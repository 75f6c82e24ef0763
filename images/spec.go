package images

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"spindle/internal/debian"
)

// Spec says what the guests' root file system holds.
type Spec struct {
	Suite    string   `yaml:"suite"`    // of Debian; "" is trixie
	Packages []string `yaml:"packages"` // in addition to those of the workloads
	Snapshot string   `yaml:"snapshot"` // 20251130T000000Z: the archive as it was then

	// File is a squashfs that somebody else made, instead of the above. It must
	// have /bin/sh and the programs of the plan's workloads.
	File string `yaml:"file"`
	// SSH is the guest's server: "" and "spindle" for spindle's own, "openssh"
	// for the image's, which a Debian image gets installed.
	SSH string `yaml:"ssh"`
}

const defaultSuite = "trixie"

// Values of Spec.SSH.
const (
	OwnSSH  = "spindle"
	OpenSSH = "openssh"
)

// basePackages are what workloads, their settings and their collecting run,
// beside coreutils, mount and util-linux, which every Debian has.
var basePackages = []string{
	"btrfs-progs",
	"e2fsprogs",
	"f2fs-tools",
	"fio",
	"kmod",
	"procps",
	"xfsprogs",
}

var (
	suiteForm   = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)
	packageForm = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`)
)

// Validate looks for what no image can have. Each message begins with the key
// of a plan that it is about.
func (s Spec) Validate() error {
	switch s.SSH {
	case "", OwnSSH, OpenSSH:
	default:
		return fmt.Errorf("ssh %q: want %s or %s", s.SSH, OwnSSH, OpenSSH)
	}
	if s.File != "" && (s.Suite != "" || len(s.Packages) > 0 || s.Snapshot != "") {
		return fmt.Errorf("file %s: is used as it is; suite, packages and snapshot are of an image that is made", s.File)
	}
	if s.Suite != "" && !suiteForm.MatchString(s.Suite) {
		return fmt.Errorf("suite %q: want a name such as %s", s.Suite, defaultSuite)
	}
	for _, p := range s.Packages {
		if !packageForm.MatchString(p) {
			return fmt.Errorf("packages: %q: want names such as blktrace", p)
		}
	}
	if s.Snapshot != "" {
		if err := (debian.Archive{Snapshot: s.Snapshot}).Validate(); err != nil {
			return err
		}
	}
	return nil
}

func (s Spec) suite() string {
	if s.Suite == "" {
		return defaultSuite
	}
	return s.Suite
}

// all gives the packages to install, sorted, each once.
func (s Spec) all(base []string) []string {
	list := slices.Concat(base, s.Packages)
	if s.SSH == OpenSSH {
		list = append(list, "openssh-server")
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// String gives the spec as a person would say it.
func (s Spec) String() string {
	text := s.suite()
	if s.File != "" {
		text = s.File
	}
	if len(s.Packages) > 0 {
		text += " with " + strings.Join(s.Packages, ", ")
	}
	if s.Snapshot != "" {
		text += " of " + s.Snapshot
	}
	return text
}
