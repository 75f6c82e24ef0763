package debian

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"spindle/internal/proc"
)

// MissingSuite is a suite that a mirror says it does not have.
type MissingSuite struct {
	Suite  string
	Mirror string // its URL
}

// Error says that the mirror answers and the suite is not there.
func (m MissingSuite) Error() string { return "there is none at " + m.Mirror + " (not found)" }

// MissingSuites is the error of an archive with such suites. It is the plan's
// fault.
type MissingSuites []MissingSuite

// Error names them all.
func (ms MissingSuites) Error() string {
	var parts []string
	for _, m := range ms {
		parts = append(parts, fmt.Sprintf("suite %s: %v", m.Suite, m))
	}
	return strings.Join(parts, "; ")
}

// noRelease is what apt-get update says of a suite whose InRelease and Release
// the mirror answered with "not found". A mirror that does not answer, or
// answers with another error, makes it say something else (apt-pkg/acquire-item.cc).
var noRelease = regexp.MustCompile(`(?m)^E: The repository '(\S+) (\S+) Release' does not have a Release file\.`)

// missingSuites reads the error of apt-get update; nil if it is another.
func missingSuites(err error) MissingSuites {
	var failed *proc.Error
	if !errors.As(err, &failed) {
		return nil
	}
	var ms MissingSuites
	for _, m := range noRelease.FindAllStringSubmatch(failed.Output, -1) {
		ms = append(ms, MissingSuite{Suite: m[2], Mirror: m[1]})
	}
	return ms
}
