package workloads

import (
	"fmt"
	"slices"
	"strings"
)

// NoFilesystem leaves the drive bare; the workload gets its device node.
const NoFilesystem = "none"

// filesystem is how one is made fresh for a sample.
type filesystem struct {
	name    string
	program string
	force   []string // no questions, also over an old file system; little output
	// quiet are the defaults that leave no work for after the mount. They are
	// sub-options of one option, and a later one of the same would replace
	// them all, so the plan's are added to it.
	quietFlag, quiet string
	version          []string // prints the version of program
	pack             string   // Debian's package
}

// ext's lazy initialisation writes inode tables and the journal from a kernel
// thread after the mount, for minutes, on the drive that is being measured
// (mke2fs(8)). Without it mkfs takes longer, but that is not timed. XFS, btrfs
// and F2FS leave nothing behind.
//
// Discard stays on where mkfs has it as its default: all of it ends before mkfs
// does.
var filesystems = []filesystem{
	ext("ext2"), ext("ext3"), ext("ext4"),
	{name: "xfs", program: "mkfs.xfs", force: []string{"-f", "-q"}, version: []string{"-V"}, pack: "xfsprogs"},
	{name: "btrfs", program: "mkfs.btrfs", force: []string{"-f", "-q"}, version: []string{"-V"}, pack: "btrfs-progs"},
	{name: "f2fs", program: "mkfs.f2fs", force: []string{"-f", "-q"}, version: []string{"-V"}, pack: "f2fs-tools"},
}

func ext(name string) filesystem {
	return filesystem{
		name: name, program: "mkfs." + name, force: []string{"-F", "-q"},
		quietFlag: "-E", quiet: "lazy_itable_init=0,lazy_journal_init=0",
		version: []string{"-V"}, pack: "e2fsprogs",
	}
}

// Filesystems gives the names that a Job may have, "none" last.
func Filesystems() []string {
	var names []string
	for _, f := range filesystems {
		names = append(names, f.name)
	}
	return append(names, NoFilesystem)
}

// ValidFilesystem tells whether a Job can have that file system.
func ValidFilesystem(name string) error {
	if slices.Contains(Filesystems(), name) {
		return nil
	}
	return fmt.Errorf("filesystem %q: there are %s", name, strings.Join(Filesystems(), ", "))
}

func findFilesystem(name string) (filesystem, bool) {
	for _, f := range filesystems {
		if f.name == name {
			return f, true
		}
	}
	return filesystem{}, false
}

// mkfs gives the arguments that make it on a device. The plan's options come
// after ours, so that they win.
func (f filesystem) mkfs(device string, options []string) []string {
	args := slices.Clone(f.force)
	if f.quiet != "" {
		subs, rest := takeFlag(options, f.quietFlag)
		args = append(args, f.quietFlag, strings.Join(append([]string{f.quiet}, subs...), ","))
		options = rest
	}
	args = append(args, options...)
	return append(args, device)
}

// takeFlag takes every "-E value" and "-Evalue" out of options.
func takeFlag(options []string, flag string) (values, rest []string) {
	for i := 0; i < len(options); i++ {
		o := options[i]
		switch {
		case o == flag && i+1 < len(options):
			i++
			values = append(values, options[i])
		case strings.HasPrefix(o, flag) && len(o) > len(flag):
			values = append(values, strings.TrimPrefix(o, flag))
		default:
			rest = append(rest, o)
		}
	}
	return values, rest
}

// mountArgs gives the arguments of mount(8). The type is named so that ext3 is
// not taken for ext4, and a wrong file system is an error.
func mountArgs(name, device, dir string, options []string) []string {
	args := []string{"-t", name}
	if len(options) > 0 {
		args = append(args, "-o", strings.Join(options, ","))
	}
	return append(args, device, dir)
}
