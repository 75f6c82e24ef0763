package pipeline

import (
	"slices"
	"strings"

	"spindle/internal/unit"
)

// leastDrive is the smallest drive on which a mkfs of Debian 13 makes its file
// system as plans ask for it, found by trying sizes in steps of 1 MiB:
// xfsprogs 6.13 ("Filesystem must be larger than 300MB"), btrfs-progs 6.14
// ("minimum size for each btrfs device is 114294784"), f2fs-tools 1.16, and
// e2fsprogs 1.47, which leaves out the journal ("too small for a journal")
// and so makes no ext3 below 2 MiB.
//
// Some options of mkfs make do with less; a plan that has one of them is left
// to try.
var leastDrive = map[string]struct {
	size   unit.Size
	unless []string // beginnings of options
}{
	"ext2":  {unit.MiB, nil},
	"ext3":  {2 * unit.MiB, nil},
	"ext4":  {2 * unit.MiB, []string{"-O", "^has_journal"}},
	"xfs":   {300 * unit.MiB, []string{"--unsupported"}},
	"btrfs": {109 * unit.MiB, []string{"-M", "--mixed", "-m", "--metadata", "-n", "--nodesize"}},
	"f2fs":  {44 * unit.MiB, nil},
}

// mkfsFits checks that each file system can be made on each drive.
func (c *checker) mkfsFits() {
	p := c.plan
	for i, f := range p.Conditions.Filesystem {
		least := leastDrive[f]
		if slices.ContainsFunc(p.MkfsOptions(f), func(o string) bool {
			return slices.ContainsFunc(least.unless, func(u string) bool { return strings.HasPrefix(o, u) })
		}) {
			continue
		}
		for _, d := range p.Conditions.Drive {
			dev, err := p.Drives[d].Device()
			if err != nil || dev.Size >= least.size || dev.Size == 0 { // the host knows it
				continue
			}
			at := c.root.get("drives", d, "size")
			if at == nil {
				at = c.root.get("conditions", "filesystem").item(i)
			}
			c.value(at, "%s needs a drive of at least %s, and drive %s has %s", f, least.size.Near(), d, dev.Size.Near())
		}
	}
}
