package kernels

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"spindle/internal/fault"
	"spindle/internal/store"
)

// banner is what the kernel says of itself first (init/version.c).
var banner = regexp.MustCompile(`Linux version ([0-9][0-9A-Za-z.+_~-]*) \(`)

// ourMark is an option of the kernel command line that spindle's patch for um
// adds. Without the patch a guest computes otherwise at every run.
const ourMark = "tt-seed="

// fromProgram gives the entry of a kernel for um that somebody built: the program
// linux.
func fromProgram(ctx context.Context, env Env, s Source) (dir string, err error) {
	path, err := filepath.Abs(s.Path)
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fault.Planf("%s: no such file or directory: make ARCH=um builds one as linux", path)
	} else if err != nil {
		return "", err
	}
	version, err := readProgram(data)
	if err != nil {
		return "", fault.Planf("%s: %w", path, err)
	}
	config, err := programConfig(path, data)
	if err != nil {
		return "", err
	}
	key, err := store.NewKey("kernel").Field("recipe", recipe).
		Field("path", path).
		Field("linux", fmt.Sprintf("%x", sha256.Sum256(data))).
		Field("config from", config.from).
		Field("config", string(config.text)).Sum()
	if err != nil {
		return "", err
	}
	return env.Store.Make(ctx, key, func(ctx context.Context, dir string) error {
		if err := os.WriteFile(filepath.Join(dir, "linux"), data, 0o755); err != nil {
			return err
		}
		r := record{Arch: "um", Version: version, Source: path, Config: config.from}
		if r.Config != "" {
			if err := os.WriteFile(filepath.Join(dir, "config"), config.text, 0o644); err != nil {
				return err
			}
		}
		_, err := finish(ctx, dir, r)
		return err
	})
}

// readProgram gives a program's version, and says why it is none that a guest
// in virtual time can have.
func readProgram(data []byte) (version string, err error) {
	m := banner.FindSubmatch(data)
	switch {
	case !bytes.HasPrefix(data, []byte("\x7fELF")) || m == nil:
		return "", errors.New("is no kernel built with make ARCH=um, which is a program of the host")
	case !bytes.Contains(data, []byte(ourMark)):
		return "", fmt.Errorf("was built without spindle's patch for time that is the same at every run; it is in spindle's source under kernels/patches/um, and put on top of what is built from source (arch: um with deb, git, tarball or tree)")
	}
	return string(m[1]), nil
}

// programConfig finds the configuration inside (CONFIG_IKCONFIG), or in the tree
// that the program was built in, as long as that has not been configured again
// since.
func programConfig(path string, data []byte) (foundConfig, error) {
	if text, err := embeddedConfig(data); err != nil {
		return foundConfig{}, fmt.Errorf("%s: %w", path, err)
	} else if text != nil {
		return foundConfig{text, "image"}, nil
	}
	return configInTree(path, filepath.Dir(path))
}
