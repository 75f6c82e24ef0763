package kernels

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Source says where a kernel comes from: a package with a kernel in it, files
// that somebody built, or source code that is built here. Exactly one of Deb,
// Path, Git, Tarball and Tree is given.
type Source struct {
	// Deb is a package of Debian's archive: a kernel's own name
	// (linux-image-6.12.57+deb13-amd64), a metapackage (linux-image-amd64), or
	// a series and flavour (linux-image-6.1-cloud-amd64) for its newest kernel.
	// The package may also be source code (linux-source-6.12). A version may
	// follow: NAME=VERSION.
	Deb string `yaml:"deb"`

	// Path is a bzImage; with Arch um the program linux.
	Path string `yaml:"path"`

	// Modules is where `make modules_install INSTALL_MOD_PATH=...` put the
	// modules of the bzImage in Path, or a /lib/modules, or the directory of
	// this kernel in one. Without it the kernel must have all built in.
	Modules string `yaml:"modules"`

	// Git is a repository, by its path or URL, and Rev what is built of it: a
	// tag, a branch, a commit, as git rev-parse takes it.
	Git string `yaml:"git"`
	Rev string `yaml:"rev"`

	// Tarball is a tar file of a kernel's source, plain or packed with xz, gzip,
	// bzip2 or zstd, by its path or URL. It must have the hash SHA256 (64 hex
	// digits).
	Tarball string `yaml:"tarball"`
	SHA256  string `yaml:"sha256"`

	// Tree is a directory with a kernel's source, as it is now.
	Tree string `yaml:"tree"`

	// Series are patches on top of source code: an mbox, a directory of
	// patches, a quilt series (a directory with a file of that name, or the
	// file), or a range A..B of the repository in Git or Tree. Upto applies the
	// first so many of them; nil is all.
	Series string `yaml:"series"`
	Upto   *int   `yaml:"upto"`

	// Config says how source code is configured; see [Parts].
	Config Parts `yaml:"config"`

	// CC is the compiler: gcc or clang, one with a version (gcc-12), or a path.
	// "" is gcc.
	CC string `yaml:"cc"`

	// Arch is what is built, or was to give Path: x86_64, or um for User Mode
	// Linux on x86_64. "" is x86_64.
	Arch string `yaml:"arch"`
}

// Parts are the parts of a configuration, in order; later ones win. Each is
// the name of a fragment that comes with spindle ([kconfig.Names]) or a file.
// A file that Kconfig wrote (a .config, with its comment at the top) is a
// whole configuration and must come first; without one, tinyconfig does. No
// parts stand for what a guest of any plan takes.
type Parts []string

// UnmarshalText reads a single part: config: FILE.
func (p *Parts) UnmarshalText(text []byte) error {
	*p = Parts{string(text)}
	return nil
}

var debForm = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+(=[A-Za-z0-9.+:~-]+)?$`)

// Validate looks for what is no source. Each message begins with the key of a
// plan that it is about, where there is one.
func (s Source) Validate() error {
	switch from := s.from(); {
	case len(from) == 0 && s.Modules != "":
		return errors.New("modules: belong to a path, which is missing")
	case len(from) == 0 && s.Rev != "":
		return errors.New("rev: belongs to a repository (git), which is missing")
	case len(from) == 0:
		return errors.New("wants a package, such as {deb: linux-image-6.12-amd64}, an image, such as {path: arch/x86/boot/bzImage}, or source code, such as {git: ~/linux, rev: v6.12}")
	case len(from) > 1:
		return fmt.Errorf("%s: a kernel comes from one place: here are %s", from[len(from)-1], strings.Join(from, " and "))
	case s.Deb != "" && s.Modules != "":
		return errors.New("modules: come with the package, leave them out")
	case s.Deb != "" && !debForm.MatchString(s.Deb):
		return fmt.Errorf("deb %q: want NAME or NAME=VERSION, such as linux-image-6.12-amd64", s.Deb)
	case s.Deb != "" && !isImage(s.Deb) && !s.Builds():
		return fmt.Errorf("deb %s: holds no kernel image: want a package named linux-image-..., such as linux-image-6.12-amd64, or its source, such as linux-source-6.12", s.Deb)
	case s.Modules != "" && s.Path == "":
		return errors.New("modules: are built with the kernel, leave them out")
	case strings.ContainsAny(s.Path+s.Modules, "\n\x00"):
		return errors.New("path: has a line break in it")
	}
	if s.Builds() {
		return s.validCode()
	}
	for _, x := range []struct{ key, value string }{
		{"rev", s.Rev}, {"sha256", s.SHA256}, {"series", s.Series}, {"config", strings.Join(s.Config, "")}, {"cc", s.CC},
	} {
		if x.value != "" {
			return fmt.Errorf("%s: is for source code (git, tarball, tree, or a package linux-source-...); this kernel is built already", x.key)
		}
	}
	switch {
	case s.Upto != nil:
		return errors.New("upto: is for source code with a series; this kernel is built already")
	case s.Arch == "" || s.Arch == "x86_64":
	case s.Arch != "um" || s.Deb != "":
		return fmt.Errorf("arch: %s: is for source code (git, tarball, tree, or a package linux-source-...), and um for the path of a program too", s.Arch)
	case s.Modules != "":
		return errors.New("modules: a program (arch: um) has all built in here, leave them out")
	}
	return nil
}

// from gives the keys that say where the kernel comes from.
func (s Source) from() []string {
	var keys []string
	for _, x := range []struct{ key, value string }{
		{"deb", s.Deb}, {"path", s.Path}, {"git", s.Git}, {"tarball", s.Tarball}, {"tree", s.Tree},
	} {
		if x.value != "" {
			keys = append(keys, x.key)
		}
	}
	return keys
}

// isImage says whether a package can have a bzImage, by its name: Debian,
// Ubuntu and the kernel's own bindeb-pkg call them linux-image-..., and so are
// called the packages of debug symbols and of signing templates, which have
// none. It is asked so that nobody waits for a download to learn it.
func isImage(deb string) bool {
	name, _, _ := strings.Cut(deb, "=")
	if !strings.HasPrefix(name, "linux-image-") {
		return false
	}
	for _, other := range []string{"-dbg", "-dbgsym", "-template"} {
		if strings.HasSuffix(name, other) {
			return false
		}
	}
	return true
}
