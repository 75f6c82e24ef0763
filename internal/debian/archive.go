package debian

import (
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
)

// Archive says which packages there are. The zero value is Debian's own
// archive with the suites that hold the long-term kernels 6.1 and 6.12.
type Archive struct {
	Mirror   string   `yaml:"mirror"`   // such as http://deb.debian.org/debian, the default
	Security string   `yaml:"security"` // mirror of the suites named *-security
	Suites   []string `yaml:"suites"`   // where kernels are looked for
	Keyring  string   `yaml:"keyring"`  // absolute path of the keys that sign releases
	Snapshot string   `yaml:"snapshot"` // 20251130T000000Z: the archive as it was then, by snapshot.debian.org
	Arch     string   `yaml:"-"`        // Debian's name of the architecture; "" is amd64
}

const (
	defaultMirror   = "http://deb.debian.org/debian"
	defaultSecurity = "http://deb.debian.org/debian-security"
	defaultKeyring  = "/usr/share/keyrings/debian-archive-keyring.gpg"
	snapshots       = "http://snapshot.debian.org/archive"
)

// defaultSuites has bookworm for 6.1 and trixie for 6.12. Kernel updates of a
// stable release come through its security suite.
var defaultSuites = []string{"bookworm", "bookworm-security", "trixie", "trixie-security"}

// Filled gives the archive with the defaults in place of what is empty.
func (a Archive) Filled() Archive {
	if a.Mirror == "" {
		a.Mirror = defaultMirror
		if a.Snapshot != "" {
			a.Mirror = snapshots + "/debian/" + a.Snapshot
		}
	}
	if a.Security == "" {
		a.Security = defaultSecurity
		if a.Snapshot != "" {
			a.Security = snapshots + "/debian-security/" + a.Snapshot
		}
	}
	if len(a.Suites) == 0 {
		a.Suites = defaultSuites
	}
	if a.Keyring == "" {
		a.Keyring = defaultKeyring
	}
	if a.Arch == "" {
		a.Arch = "amd64"
	}
	return a
}

var (
	snapshotTime = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}Z$`)
	suiteName    = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(/[a-z0-9][a-z0-9.-]*)*$`)
	archName     = regexp.MustCompile(`^[a-z0-9-]+$`)
)

// Validate looks for what no archive can have. Each message begins with the
// key of a plan that it is about.
func (a Archive) Validate() error {
	if a.Snapshot != "" {
		if !snapshotTime.MatchString(a.Snapshot) {
			return fmt.Errorf("snapshot %q: want a time such as 20251130T000000Z", a.Snapshot)
		}
		if a.Mirror != "" || a.Security != "" {
			return fmt.Errorf("snapshot %s: comes from snapshot.debian.org, so leave out mirror and security", a.Snapshot)
		}
	}
	a = a.Filled()
	for _, m := range []struct{ key, url string }{{"mirror", a.Mirror}, {"security", a.Security}} {
		u, err := url.Parse(m.url)
		if err != nil || strings.ContainsAny(m.url, " \t\r\n") || !(u.Scheme == "file" || (u.Scheme == "http" || u.Scheme == "https") && u.Host != "") {
			return fmt.Errorf("%s %q: want a URL such as %s", m.key, m.url, defaultMirror)
		}
	}
	for _, s := range a.Suites {
		if !suiteName.MatchString(s) {
			return fmt.Errorf("suites: %q: want names such as %s", s, strings.Join(defaultSuites, ", "))
		}
	}
	if !filepath.IsAbs(a.Keyring) || strings.ContainsAny(a.Keyring, " \t\r\n") {
		return fmt.Errorf("keyring %q: want an absolute path without spaces, such as %s", a.Keyring, defaultKeyring)
	}
	if !archName.MatchString(a.Arch) {
		return fmt.Errorf("architecture %q: want Debian's name of one, such as amd64", a.Arch)
	}
	return nil
}

// Sources gives the text of a .sources file (deb822, see sources.list(5)) for
// these suites, or for those of the archive if none are given. Both apt and
// mmdebstrap read it. Suites named *-security come from the security mirror.
func (a Archive) Sources(suites ...string) string {
	a = a.Filled()
	if len(suites) == 0 {
		suites = a.Suites
	}
	var main, security []string
	for _, s := range suites {
		if strings.HasSuffix(s, "-security") {
			security = append(security, s)
		} else {
			main = append(main, s)
		}
	}
	var parts []string
	for _, p := range []struct {
		mirror string
		suites []string
	}{{a.Mirror, main}, {a.Security, security}} {
		if len(p.suites) == 0 {
			continue
		}
		text := "Types: deb\n" +
			"URIs: " + p.mirror + "\n" +
			"Suites: " + strings.Join(p.suites, " ") + "\n" +
			"Components: main\n" +
			"Architectures: " + a.Arch + "\n" +
			"Signed-By: " + a.Keyring + "\n"
		if a.Snapshot != "" {
			// A release of the past says that it is no longer valid. Its
			// signature is checked all the same.
			text += "Check-Valid-Until: no\n"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n")
}

// With gives the suites that make up a release as its users have it: with its
// updates and its security suite, where it has them.
func With(suite string) []string {
	switch suite {
	case "sid", "unstable", "experimental":
		return []string{suite}
	}
	if strings.ContainsAny(suite, "-/") {
		return []string{suite}
	}
	return []string{suite, suite + "-updates", suite + "-security"}
}
