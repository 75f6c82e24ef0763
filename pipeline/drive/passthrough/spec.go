package passthrough

import (
	"path/filepath"
	"strings"

	"spindle/internal/fault"
)

// Spec says which disk, and that its contents may go.
type Spec struct {
	Path            string // a name that stays: /dev/disk/by-id/ata-...
	Destroy         string // the identity of the disk: see [Disk.ID]
	DestroyContents bool   // signatures on it do not protect it
}

// Validate checks what can be told without looking at the host. Errors are
// faults of the plan and begin with the key they are about.
func (s Spec) Validate() error {
	switch {
	case !filepath.IsAbs(s.Path) || filepath.Clean(s.Path) != s.Path || !strings.HasPrefix(s.Path, "/dev/"):
		return fault.Planf("passthrough: %q: want a disk's path, such as /dev/disk/by-id/ata-...", s.Path)
	case s.Destroy == "":
		return fault.Planf("passthrough: everything on %s would be lost: write its serial behind destroy:", s.Path)
	}
	return nil
}
