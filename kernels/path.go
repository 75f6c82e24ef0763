package kernels

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"spindle/internal/fault"
	"spindle/internal/store"
)

// fromPath gives the entry of a bzImage and its modules. All files are read
// for their hash each time: times and sizes do not show every change.
func fromPath(ctx context.Context, env Env, s Source) (dir string, err error) {
	path, err := filepath.Abs(s.Path)
	if err != nil {
		return "", err
	}
	image, err := readImage(path)
	if err != nil {
		return "", err
	}
	version := image.version
	tree, modules := "", []string(nil)
	if s.Modules != "" {
		if tree, err = moduleDir(s.Modules, version); err != nil {
			return "", fault.Planf("modules: %w", err)
		}
		if modules, err = moduleFiles(tree); err != nil {
			return "", err
		}
	}
	config, err := image.config(ctx, path)
	if err != nil {
		return "", err
	}
	key, err := pathKey(path, image, config, tree, modules)
	if err != nil {
		return "", err
	}
	return env.Store.Make(ctx, key, func(ctx context.Context, dir string) error {
		if err := os.WriteFile(filepath.Join(dir, "bzImage"), image.data, 0o644); err != nil {
			return err
		}
		r := record{Source: path, Config: config.from, Modules: tree != ""}
		if r.Config != "" {
			if err := os.WriteFile(filepath.Join(dir, "config"), config.text, 0o644); err != nil {
				return err
			}
		}
		for _, name := range modules {
			to := filepath.Join(dir, "modules", "lib", "modules", version, name)
			if err := copyFile(to, filepath.Join(tree, name)); err != nil {
				return fmt.Errorf("copy modules: %w", err)
			}
		}
		_, err := finish(ctx, dir, r)
		return err
	})
}

func pathKey(path string, image *bzImage, config foundConfig, tree string, modules []string) (store.Key, error) {
	h := store.NewKey("kernel").Field("recipe", recipe).
		Field("path", path).
		Field("bzImage", fmt.Sprintf("%x", sha256.Sum256(image.data))).
		Field("config from", config.from).
		Field("config", string(config.text))
	for _, name := range modules {
		h.File("module "+name, filepath.Join(tree, name))
	}
	return h.Sum()
}

// readImage reads a bzImage, and says what to give if it is something else.
func readImage(path string) (*bzImage, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		if info, e := os.Stat(path); e == nil && info.IsDir() {
			return nil, fault.Planf("%s is a directory: give the image in it, such as %s", path, filepath.Join(path, "arch/x86/boot/bzImage"))
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fault.Planf("%s: no such file or directory: make bzImage builds one as arch/x86/boot/bzImage", path)
		}
		return nil, err
	}
	image, err := parseImage(data)
	if err != nil {
		return nil, fault.Planf("%s: %w", path, err)
	}
	return image, nil
}

// foundConfig is a configuration and where it came from: "" for nowhere.
type foundConfig struct {
	text []byte
	from string
}

// config finds the configuration of an image: inside (CONFIG_IKCONFIG), beside
// as config-VERSION, or in the tree that it was built in, as long as that has
// not been configured again since.
func (image *bzImage) config(ctx context.Context, path string) (foundConfig, error) {
	vmlinux, err := image.vmlinux(ctx)
	if err != nil {
		return foundConfig{}, err
	}
	if text, err := embeddedConfig(vmlinux); err != nil {
		return foundConfig{}, fmt.Errorf("%s: %w", path, err)
	} else if text != nil {
		return foundConfig{text, "image"}, nil
	}
	beside := filepath.Join(filepath.Dir(path), "config-"+image.version)
	text, err := os.ReadFile(beside)
	if err == nil {
		return foundConfig{text, beside}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return foundConfig{}, err
	}
	tree, ok := strings.CutSuffix(path, "/arch/x86/boot/bzImage")
	if !ok {
		return foundConfig{}, nil
	}
	return configInTree(path, tree)
}

// configInTree reads the .config of the tree that path was built in. It is not
// known if there is none, or one that is newer than the image.
func configInTree(path, tree string) (foundConfig, error) {
	inTree := filepath.Join(tree, ".config")
	built, err := os.Stat(path)
	if err != nil {
		return foundConfig{}, err
	}
	if configured, err := os.Stat(inTree); err != nil || configured.ModTime().After(built.ModTime()) {
		return foundConfig{}, nil
	}
	text, err := os.ReadFile(inTree)
	if err != nil {
		return foundConfig{}, err
	}
	return foundConfig{text, inTree}, nil
}

func copyFile(to, from string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
