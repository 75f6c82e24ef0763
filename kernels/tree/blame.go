package tree

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// Blame finds the patch that touches a file, by its path in the tree. If there
// are several, the one that wrote the line is taken, and else the last. ok is
// false if no patch touches the file.
func (c Code) Blame(ctx context.Context, file string, line int) (number int, p Patch, ok bool) {
	var touching []int
	for i, p := range c.Patches {
		names, err := c.Repo.git(ctx, "diff-tree", "--no-commit-id", "--name-only", "--no-renames", "-r", "-z", p.Commit)
		if err == nil && slices.Contains(strings.Split(strings.Trim(names, "\x00"), "\x00"), file) {
			touching = append(touching, i)
		}
	}
	if len(touching) == 0 {
		return 0, Patch{}, false
	}
	i := touching[len(touching)-1]
	if len(touching) > 1 && line > 0 {
		at := strconv.Itoa(line)
		out, err := c.Repo.git(ctx, "blame", "--porcelain", "-L", at+","+at, c.Commit+".."+c.Head, "--", file)
		id, _, _ := strings.Cut(out, " ")
		if n := slices.IndexFunc(c.Patches, func(p Patch) bool { return p.Commit == id }); err == nil && n >= 0 {
			i = n
		}
	}
	return i + 1, c.Patches[i], true
}
