package debian

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"spindle/internal/fault"
	"spindle/internal/proc"
)

// Package is one version of a package in the archive.
type Package struct {
	Name    string
	Version string
	SHA256  string // of the .deb, as the signed lists have it
	Suite   string // the first that has this version
	Size    int64  // of the .deb, in bytes
}

// String gives NAME=VERSION, as apt takes it.
func (p Package) String() string { return p.Name + "=" + p.Version }

var packageName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`)

// errAbsent is the cause of an error to find a package, or its version.
var errAbsent = errors.New("not in the archive")

// Resolve finds the package of a name and, if it is not "", a version. Without
// a version the newest in any suite of the archive is taken.
//
// A metapackage for kernels (linux-image-amd64) is followed to the kernel that
// it depends on. Where there is no package linux-image-SERIES-FLAVOUR, as in
// linux-image-6.1-cloud-amd64, the name means the newest kernel of that series
// and that very flavour.
//
// A name or version that is not there is a fault of the plan, and the error
// names what is near.
func (r *Root) Resolve(ctx context.Context, name, version string) (Package, error) {
	if !packageName.MatchString(name) {
		return Package{}, fault.Planf("package %q: want a name such as linux-image-6.12-amd64", name)
	}
	p, err := r.resolve(ctx, name, version)
	if errors.Is(err, errAbsent) && r.archive.Snapshot == "" {
		if err := r.update(ctx, again); err != nil {
			return Package{}, err
		}
		p, err = r.resolve(ctx, name, version)
	}
	return p, err
}

func (r *Root) resolve(ctx context.Context, name, version string) (Package, error) {
	unlock, err := r.lock(ctx, os.O_RDONLY)
	if err != nil {
		return Package{}, err
	}
	defer unlock()
	// A chain of metapackages is two long at most; the bound is for a broken archive.
	for range 5 {
		all, err := r.show(ctx, name)
		if err != nil {
			return Package{}, err
		}
		if len(all) == 0 {
			if all, err = r.series(ctx, name); err != nil {
				return Package{}, err
			}
		}
		if len(all) == 0 {
			return Package{}, r.absent(ctx, name)
		}
		found := all[0]
		if version != "" {
			i := slices.IndexFunc(all, func(s stanza) bool { return s["Version"] == version })
			if i < 0 {
				return Package{}, otherVersions(name, version, all)
			}
			found = all[i]
		}
		next, ok := metapackage(found)
		if !ok {
			return r.describe(ctx, found)
		}
		name, version = next.name, next.version
	}
	return Package{}, fmt.Errorf("package %s: its metapackages have no end", name)
}

// show gives all versions of a package, the newest first.
func (r *Root) show(ctx context.Context, names ...string) ([]stanza, error) {
	text, err := r.apt(ctx, r.dir, "apt-cache", append([]string{"-q", "show", "--"}, names...)...)
	var failed *proc.Error
	if errors.As(err, &failed) && failed.ExitCode == 100 && strings.Contains(failed.Output, "No packages found") {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up package %s: %w", names[0], err)
	}
	// apt takes a name that it does not know as a pattern.
	all := slices.DeleteFunc(parseStanzas(text), func(s stanza) bool { return !slices.Contains(names, s["Package"]) })
	slices.SortStableFunc(all, func(a, b stanza) int { return Compare(b["Version"], a["Version"]) })
	return all, nil
}

// metapackage says which kernel a package stands for. A kernel's own package
// never depends on another's.
func metapackage(s stanza) (dependency, bool) {
	if !strings.HasPrefix(s["Package"], "linux-image-") {
		return dependency{}, false
	}
	for _, d := range dependencies(s["Depends"]) {
		if strings.HasPrefix(d.name, "linux-image-") {
			return d, true
		}
	}
	return dependency{}, false
}

var seriesName = regexp.MustCompile(`^linux-image-([0-9]+\.[0-9]+)-([a-z0-9-]+)$`)

// series gives the kernels of a series and flavour, the newest first.
func (r *Root) series(ctx context.Context, name string) ([]stanza, error) {
	m := seriesName.FindStringSubmatch(name)
	if m == nil {
		return nil, nil
	}
	prefix := "linux-image-" + m[1] + "."
	names, err := r.names(ctx, prefix)
	if err != nil {
		return nil, err
	}
	names = ofSeries(names, m[1], m[2])
	if len(names) == 0 {
		return nil, nil
	}
	return r.show(ctx, names...)
}

// ofSeries gives the names that are linux-image-SERIES.PATCH-FLAVOUR, where
// the patch may have an ABI behind it: 6.1.0-57, 6.12.118+deb13, 6.16.3+deb13,
// 6.1.0-0.deb11.13. A flavour has a letter first, so that cloud-amd64 is not
// amd64 with an odd ABI.
func ofSeries(names []string, series, flavour string) []string {
	form := regexp.MustCompile(`^linux-image-` + regexp.QuoteMeta(series) + `\.[0-9][0-9a-z.+~]*(-[0-9][0-9a-z.+~]*)?-` + regexp.QuoteMeta(flavour) + `$`)
	var out []string
	for _, n := range names {
		if form.MatchString(n) {
			out = append(out, n)
		}
	}
	return out
}

// names gives the names of all packages that begin with prefix, sorted.
func (r *Root) names(ctx context.Context, prefix string) ([]string, error) {
	text, err := r.apt(ctx, r.dir, "apt-cache", "-q", "pkgnames", "--", prefix)
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	names := strings.Fields(text)
	slices.Sort(names)
	return names, nil
}

func (r *Root) absent(ctx context.Context, name string) error {
	prefix := ""
	if strings.HasPrefix(name, "linux-image-") {
		prefix = "linux-image-"
	}
	names, err := r.names(ctx, prefix)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(n string) bool {
		return prefix != "" && (strings.HasSuffix(n, "-dbg") || strings.HasSuffix(n, "-unsigned") || strings.HasSuffix(n, "-template"))
	})
	e := &fault.Error{
		Kind: fault.Plan, Reason: "package",
		Hint: "other packages may be in other suites, such as bookworm-backports or sid: debian: {suites: [...]}",
	}
	more := ""
	if there, err := r.newest(ctx, name, names); err != nil {
		return err
	} else if len(there) > 0 {
		more = "; of that flavour there are " + strings.Join(there, ", ")
	} else if found := near(name, names); len(found) > 0 {
		more = "; near it are " + strings.Join(found, ", ")
		e.Hint = ""
	}
	e.Err = fmt.Errorf("package %s: %w (suites %s)%s", name, errAbsent, strings.Join(r.archive.Suites, ", "), more)
	return e
}

var imageName = regexp.MustCompile(`^linux-image-([0-9]+\.[0-9]+)[.-]`)

// newest gives what could be written in place of a name for a series and a
// flavour, with the version that each means: "linux-image-6.12-amd64 (6.12.57-1)",
// sorted as versions. Nothing if the name is of another form.
func (r *Root) newest(ctx context.Context, name string, names []string) ([]string, error) {
	m := seriesName.FindStringSubmatch(name)
	if m == nil {
		return nil, nil
	}
	of := make(map[string][]string) // series -> its packages of the flavour
	for _, n := range names {
		if f := imageName.FindStringSubmatch(n); f != nil && len(ofSeries([]string{n}, f[1], m[2])) > 0 {
			of[f[1]] = append(of[f[1]], n)
		}
	}
	var out []string
	for _, s := range slices.SortedFunc(maps.Keys(of), Compare) {
		all, err := r.show(ctx, of[s]...)
		if err != nil {
			return nil, err
		}
		if len(all) > 0 {
			out = append(out, fmt.Sprintf("linux-image-%s-%s (%s)", s, m[2], all[0]["Version"]))
		}
	}
	return out, nil
}

func otherVersions(name, version string, all []stanza) error {
	var versions []string
	for _, s := range all {
		v := s["Version"]
		if s["Package"] != name {
			v = s["Package"] + "=" + v
		}
		if !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	return &fault.Error{
		Kind: fault.Plan, Reason: "package",
		Err:  fmt.Errorf("package %s=%s: %w, which has %s", name, version, errAbsent, strings.Join(versions, ", ")),
		Hint: "a version that Debian has replaced is in its snapshots: debian: {snapshot: 20251130T000000Z}",
	}
}

func (r *Root) describe(ctx context.Context, s stanza) (Package, error) {
	p := Package{Name: s["Package"], Version: s["Version"], SHA256: s["SHA256"]}
	if len(p.SHA256) != 64 {
		return Package{}, fmt.Errorf("package %s: its list has no SHA256", p)
	}
	size, err := strconv.ParseInt(s["Size"], 10, 64)
	if err != nil {
		return Package{}, fmt.Errorf("package %s: its list has no size", p)
	}
	p.Size = size
	text, err := r.apt(ctx, r.dir, "apt-cache", "-q", "madison", "--", p.Name)
	if err != nil {
		return Package{}, fmt.Errorf("look up package %s: %w", p, err)
	}
	p.Suite = suiteOf(text, p.Version)
	return p, nil
}

// suiteOf reads what apt-cache madison prints:
//
//	NAME | VERSION | URI SUITE/COMPONENT ARCH Packages
func suiteOf(madison, version string) string {
	for line := range strings.Lines(madison) {
		f := strings.Split(line, "|")
		if len(f) != 3 || strings.TrimSpace(f[1]) != version {
			continue
		}
		if where := strings.Fields(f[2]); len(where) == 4 && where[3] == "Packages" {
			suite, _, _ := strings.Cut(where[1], "/")
			return suite
		}
	}
	return ""
}
