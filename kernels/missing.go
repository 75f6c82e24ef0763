package kernels

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"spindle/internal/fault"
	"spindle/kernels/tree"
)

// Missing is what a source names on this host and what is not there.
type Missing struct {
	Key  string // of the plan
	Path string
	What string // directory, file
}

func (m *Missing) Error() string { return fmt.Sprintf("%s: %s: no such %s", m.Key, m.Path, m.What) }

// here looks for what the source names on this host. It is asked before anything
// is fetched, so that nobody waits for a download to learn of a slip; and git,
// which is run in the directory, would be what is not found.
func (s Source) here() error {
	for _, x := range []struct{ key, path, what, hint string }{
		{"git", s.Git, "directory", "give a directory that git works in, a bare repository, or a URL; for source code without git write tree: instead of git:"},
		{"tree", s.Tree, "directory", "give the directory of a kernel's source"},
		{"series", s.Series, "file or directory", "give an mbox, a directory of patches, a quilt series, or a range A..B; paths in a plan begin where the plan is"},
	} {
		if x.path == "" || tree.IsURL(x.path) || x.key == "series" && tree.IsRange(x.path) {
			continue
		}
		if _, err := os.Stat(x.path); errors.Is(err, fs.ErrNotExist) {
			return &fault.Error{Kind: fault.Plan, Err: &Missing{x.key, x.path, x.what}, Hint: x.hint}
		}
	}
	return nil
}

// of puts the source before an error, unless it says of itself what it is about.
func (s Source) of(err error) error {
	var missing *Missing
	if name, text := s.String(), err.Error(); errors.As(err, &missing) || len(text) > len(name) && text[:len(name)] == name && (text[len(name)] == ':' || text[len(name)] == ' ') {
		return err
	}
	return fmt.Errorf("%s: %w", s, err)
}
