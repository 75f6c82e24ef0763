// Package mdraid makes one drive of several in a guest, with md, Linux's own
// RAID, and tells what became of it.
//
// The array is the same for the same members each time: metadata, identity and
// layout are all given, and nothing is synchronised. Members must be blank, as
// a fresh test drive is: then the parity of what nobody wrote is right as it
// is, zeros over zeros, and no resync runs beside the workload.
package mdraid

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"spindle/internal/unit"
)

// Program is what makes arrays, and Package is Debian's package of it.
const (
	Program = "mdadm"
	Package = "mdadm"
)

// Device is the array's name below /dev and /sys/block.
const Device = "md0"

// Spec is an array.
type Spec struct {
	Level   string    `json:"level"`           // "0", "1", "5", "6", "10"
	Chunk   unit.Size `json:"chunk,omitempty"` // 0 for RAID 1, which has none
	Members []string  `json:"members"`         // serials, in the order that the array has them
}

// Validate tells what is wrong with the array.
func (s Spec) Validate() error {
	switch {
	case s.Level == "":
		return errors.New("md: no level given")
	case len(s.Members) < 2:
		return errors.New("md: an array has two members or more")
	case s.Chunk < 0 || s.Chunk%unit.KiB != 0:
		return fmt.Errorf("md: chunk %s: want whole KiB", s.Chunk)
	}
	return nil
}

// Args gives mdadm's arguments (mdadm(8)) that make the array of these device
// nodes. There is no write-intent bitmap, which mdadm would add by itself above
// 100 GB a member.
func (s Spec) Args(nodes []string) []string {
	args := []string{
		"--create", "/dev/" + Device, "--run", "--assume-clean", "--bitmap=none", "--metadata=1.2",
		"--homehost=guest", "--name=spindle", "--uuid=5d1ed1e5:00000000:00000000:00000001",
		"--level=" + s.Level, fmt.Sprintf("--raid-devices=%d", len(nodes)),
	}
	if s.Chunk != 0 {
		args = append(args, fmt.Sprintf("--chunk=%d", s.Chunk/unit.KiB))
	}
	return append(args, nodes...)
}

// Describe reads what the kernel says of the array below sys
// (Documentation/admin-guide/md.rst). What this level does not have (RAID 0 has
// no stripe cache) is left out.
func Describe(sys string) map[string]string {
	out := make(map[string]string)
	for _, name := range [...]string{
		"level", "raid_disks", "layout", "chunk_size", "metadata_version",
		"consistency_policy", "sync_action", "array_state", "degraded", "stripe_cache_size",
	} {
		data, err := os.ReadFile(filepath.Join(sys, "block", Device, "md", name))
		if text := strings.TrimSpace(string(data)); err == nil && text != "" {
			out["md_"+name] = text
		}
	}
	return out
}
