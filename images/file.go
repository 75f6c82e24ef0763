package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"spindle/internal/debian"
	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/store"
)

// squashfsMagic begins a squashfs; see Documentation/filesystems/squashfs.rst.
const squashfsMagic = "hsqs"

// fromFile gives the image in a file that somebody else made. It is copied into
// the store: a run must not change with a file that is written over.
func fromFile(ctx context.Context, env Env, s Spec) (Image, error) {
	if err := isSquashfs(s.File); err != nil {
		return Image{}, fault.Planf("%w", err)
	}
	sum, size, err := hashFile(s.File)
	if err != nil {
		return Image{}, err
	}
	key, err := store.NewKey("image").Field("file", sum).Sum()
	if err != nil {
		return Image{}, err
	}
	dir, err := env.Store.Make(ctx, key, func(ctx context.Context, dir string) error {
		root := filepath.Join(dir, rootName)
		if err := copyAll(root, s.File); err != nil {
			return err
		}
		if got, n, err := hashFile(root); err != nil || got != sum || n != size {
			return errors.Join(fmt.Errorf("copy %s: it changed meanwhile", s.File), err)
		}
		packages, err := packagesIn(ctx, root)
		if err != nil {
			return err
		}
		return Image{Hash: sum, Packages: packages, Suite: "file " + filepath.Base(s.File)}.write(dir)
	})
	if err != nil {
		return Image{}, err
	}
	return open(dir)
}

func isSquashfs(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("file %s: not there", path)
	}
	if err != nil {
		return fmt.Errorf("file: %w", err)
	}
	defer f.Close()
	head := make([]byte, len(squashfsMagic))
	if _, err := io.ReadFull(f, head); err != nil || string(head) != squashfsMagic {
		return fmt.Errorf("file %s: not a squashfs; mksquashfs DIRECTORY %s makes one", path, path)
	}
	return nil
}

func copyAll(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err == nil {
		err = out.Close()
	} else {
		out.Close()
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}

// packagesIn gives what dpkg has installed in an image; nothing for one that
// was not made by dpkg.
func packagesIn(ctx context.Context, root string) (map[string]string, error) {
	out, err := proc.Run(ctx, proc.Cmd{Path: "unsquashfs", Args: []string{"-cat", root, statusFile}})
	var e *proc.Error
	if errors.As(err, &e) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	return debian.Installed(string(out.Stdout)), nil
}
