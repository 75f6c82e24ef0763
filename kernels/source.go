package kernels

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Source says where a kernel comes from: a package or files.
type Source struct {
	// Deb is a package of Debian's archive: a kernel's own name
	// (linux-image-6.12.57+deb13-amd64), a metapackage (linux-image-amd64), or
	// a series and flavour (linux-image-6.1-cloud-amd64) for its newest kernel.
	// A version may follow: NAME=VERSION.
	Deb string `yaml:"deb"`

	// Path is a bzImage.
	Path string `yaml:"path"`

	// Modules is where `make modules_install INSTALL_MOD_PATH=...` put the
	// modules of the bzImage in Path, or a /lib/modules, or the directory of
	// this kernel in one. Without it the kernel must have all built in.
	Modules string `yaml:"modules"`
}

var debForm = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+(=[A-Za-z0-9.+:~-]+)?$`)

// Validate looks for what is no source. Each message begins with the key of a
// plan that it is about, where there is one.
func (s Source) Validate() error {
	switch {
	case s.Deb == "" && s.Path == "":
		if s.Modules != "" {
			return errors.New("modules: belong to a path, which is missing")
		}
		return errors.New("wants a package, such as {deb: linux-image-6.12-amd64}, or an image, such as {path: arch/x86/boot/bzImage}")
	case s.Deb != "" && s.Path != "":
		return errors.New("path: a kernel comes from a package (deb) or an image (path), not both")
	case s.Deb != "" && s.Modules != "":
		return errors.New("modules: come with the package, leave them out")
	case s.Deb != "" && !debForm.MatchString(s.Deb):
		return fmt.Errorf("deb %q: want NAME or NAME=VERSION, such as linux-image-6.12-amd64", s.Deb)
	case strings.ContainsAny(s.Path+s.Modules, "\n\x00"):
		return errors.New("path: has a line break in it")
	}
	return nil
}

// String gives the source as short as it is known by.
func (s Source) String() string {
	if s.Deb != "" {
		return s.Deb
	}
	return s.Path
}
