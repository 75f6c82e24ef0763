package kernels

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"spindle/kernels/kbuild"
	"spindle/kernels/tree"
)

// Builds says whether the kernel is built here, from source code.
func (s Source) Builds() bool {
	return s.Git != "" || s.Tarball != "" || s.Tree != "" || strings.HasPrefix(s.Deb, "linux-source-")
}

var sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)

// validCode is Validate for source code.
func (s Source) validCode() error {
	switch {
	case s.Git != "" && s.Rev == "":
		return errors.New("git: wants a rev too: the tag, branch or commit that is built, such as rev: v6.12")
	case s.Git == "" && s.Rev != "":
		return errors.New("rev: belongs to a repository (git), which is missing")
	case strings.HasPrefix(s.Rev, "-") || strings.ContainsAny(s.Rev, " \n\x00") || strings.Contains(s.Rev, ".."):
		return fmt.Errorf("rev %q: want one commit, by a tag, a branch or a hash", s.Rev)
	case s.Tarball == "" && s.SHA256 != "":
		return errors.New("sha256: belongs to a tarball, which is missing")
	case s.Tarball != "" && s.SHA256 == "":
		return errors.New("tarball: wants its sha256 too: sha256sum prints it, and kernel.org lists them in sha256sums.asc")
	case s.Tarball != "" && !sha256Form.MatchString(s.SHA256):
		return fmt.Errorf("sha256 %q: want 64 hexadecimal digits in lower case", s.SHA256)
	case s.Upto != nil && s.Series == "":
		return errors.New("upto: counts the patches of a series, which is missing")
	case s.Upto != nil && *s.Upto < 0:
		return fmt.Errorf("upto: %d patches cannot be applied", *s.Upto)
	case tree.IsRange(s.Series) && s.Git == "" && s.Tree == "":
		return fmt.Errorf("series %s: a range of commits belongs to a repository (git or tree); a file is written with a slash, as ./%s", s.Series, s.Series)
	case strings.ContainsAny(s.Git+s.Tarball+s.Tree+s.Series+strings.Join(s.Config, ""), "\n\x00"):
		return errors.New("has a line break in one of its paths")
	case slices.Contains(s.Config, ""):
		return errors.New("config: has an empty entry")
	case strings.HasPrefix(s.CC, "-") || strings.ContainsAny(s.CC, " \t\n\x00"):
		return fmt.Errorf("cc %q: want one program, such as gcc, clang or gcc-12", s.CC)
	}
	if _, err := kbuild.Arch(s.Arch); err != nil {
		return fmt.Errorf("arch: %w", err)
	}
	return nil
}

// Local gives the source with its paths on this host changed by f, which makes
// relative ones absolute. URLs, ranges of commits and names stay.
func (s Source) Local(f func(string) string) Source {
	for _, p := range []*string{&s.Path, &s.Modules, &s.Tree} {
		if *p != "" {
			*p = f(*p)
		}
	}
	for _, p := range []*string{&s.Git, &s.Tarball} {
		if *p != "" && !tree.IsURL(*p) {
			*p = f(*p)
		}
	}
	if s.Series != "" && !tree.IsRange(s.Series) {
		s.Series = f(s.Series)
	}
	s.Config = slices.Clone(s.Config)
	for i, part := range s.Config {
		if isFile(part) {
			s.Config[i] = f(part)
		}
	}
	return s
}

// isFile tells a file of a configuration from the name of a fragment, which is
// one plain word.
func isFile(part string) bool { return strings.ContainsAny(part, "/.") }

// String gives the source as short as it is known by.
func (s Source) String() string {
	out := s.Deb + s.Path + s.Git + s.Tarball + s.Tree // one of them
	if s.Rev != "" {
		out += " " + s.Rev
	}
	if s.Series != "" {
		out += " + " + filepath.Base(s.Series)
		if s.Upto != nil {
			out += fmt.Sprintf(" up to %d", *s.Upto)
		}
	}
	return out
}
