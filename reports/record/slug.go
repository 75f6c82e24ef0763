package record

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// slugMax keeps a slug far from NAME_MAX (255), so that suffixes fit too.
const slugMax = 128

// String gives the condition as people say it: the axes that are not empty,
// with spaces between: "sata ext4 bfq dd-fsync".
func (c Condition) String() string {
	var parts []string
	for _, p := range []string{c.Drive, c.Filesystem, c.Scheduler, c.Workload, c.Setup} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, " ")
}

// Slug gives a file name for the condition: "sata_ext4_bfq_dd-fsync". Two
// different conditions never share one, whatever the plan's names are.
func (c Condition) Slug() string {
	return Slug(c.Drive, c.Filesystem, c.Scheduler, c.Workload)
}

// String gives the cell as people say it: "wbt: sata ext4 bfq dd-fsync".
func (c Cell) String() string {
	return c.Arm + ": " + c.Condition.String()
}

// Slug gives a file name for the cell: "sata_ext4_bfq_dd-fsync_wbt". Two
// different cells never share one.
func (c Cell) Slug() string {
	return Slug(c.Condition.Drive, c.Condition.Filesystem, c.Condition.Scheduler, c.Condition.Workload, c.Arm)
}

// Slug makes a file name of names. It joins them with '_', which is escaped
// inside a part, so the parts can be told again. A slug too long for a file name is cut and ends in '~'
// and a hash of the whole; '~' stands nowhere else.
func Slug(parts ...string) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteByte('_')
		}
		for j := range len(p) {
			c := p[j]
			switch {
			case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
				// Neither a hidden file nor an option of rm.
				(c == '-' || c == '.') && b.Len() > 0:
				b.WriteByte(c)
			default:
				b.WriteByte('=')
				b.WriteString(hex.EncodeToString([]byte{c}))
			}
		}
	}
	s := b.String()
	if len(s) <= slugMax {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return s[:slugMax-33] + "~" + hex.EncodeToString(sum[:16])
}
