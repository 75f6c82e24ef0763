package tree

import "regexp"

var (
	urlForm   = regexp.MustCompile(`^([a-z][a-z+.-]*://|[^/:]+@[^/:]+:)`)
	rangeForm = regexp.MustCompile(`^[^./-](|[^ ]*[^./])\.\.\.?[^./][^ ]*$`)
)

// IsURL tells a repository or tarball elsewhere from a path of this host.
func IsURL(s string) bool { return urlForm.MatchString(s) }

// IsRange tells a range of commits (v6.12..wbt) from a path (../wbt.mbox).
func IsRange(s string) bool { return rangeForm.MatchString(s) }
