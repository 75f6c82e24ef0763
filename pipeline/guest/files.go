package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/google/renameio/v2"
	"github.com/pkg/sftp"
)

// Write makes a file in the guest with the given contents, mode 0644.
func (g *Guest) Write(ctx context.Context, remote string, data []byte) error {
	return g.files(ctx, "write "+remote+" in the guest", func(c *sftp.Client) error {
		return put(c, remote, bytes.NewReader(data), 0o644)
	})
}

// Put copies a file of the host into the guest, with its permissions. A file
// that stands there under the name is replaced.
func (g *Guest) Put(ctx context.Context, local, remote string) error {
	f, err := os.Open(local)
	if err != nil {
		return fmt.Errorf("copy to the guest: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("copy to the guest: %w", err)
	}
	return g.files(ctx, "copy "+local+" to "+remote+" in the guest", func(c *sftp.Client) error {
		return put(c, remote, f, info.Mode().Perm())
	})
}

// put writes to a name beside the final one and renames. r should be an
// *os.File or a *bytes.Reader: the library then knows the size and has many
// writes under way.
func put(c *sftp.Client, remote string, r io.Reader, mode fs.FileMode) (err error) {
	tmp := remote + ".tmp"
	w, err := c.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			c.Remove(tmp)
		}
	}()
	_, err = w.ReadFrom(r)
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	if err := c.Chmod(tmp, mode); err != nil {
		return err
	}
	return c.PosixRename(tmp, remote)
}

// Get copies a file of the guest to the host, durably.
func (g *Guest) Get(ctx context.Context, remote, local string) error {
	return g.files(ctx, "copy "+remote+" from the guest", func(c *sftp.Client) error {
		return get(c, remote, local)
	})
}

func get(c *sftp.Client, remote, local string) error {
	r, err := c.Open(remote)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := renameio.NewPendingFile(local, renameio.WithPermissions(0o644), renameio.WithTempDir(filepath.Dir(local)))
	if err != nil {
		return err
	}
	defer w.Cleanup()
	if _, err := r.WriteTo(w); err != nil {
		return err
	}
	return w.CloseAtomicallyReplace()
}

// GetDir copies the regular files below a directory of the guest to a
// directory of the host, which is made if need be. Links and devices are left
// out. Each file is whole or absent; if some files cannot be had, the others
// still come, and the error names those.
func (g *Guest) GetDir(ctx context.Context, remote, local string) error {
	return g.files(ctx, "copy "+remote+" from the guest", func(c *sftp.Client) error {
		if err := os.MkdirAll(local, 0o755); err != nil {
			return err
		}
		return getDir(c, remote, local)
	})
}

func getDir(c *sftp.Client, remote, local string) error {
	entries, err := c.ReadDir(remote)
	if err != nil {
		return err
	}
	var failed []error
	for _, e := range entries {
		// The name is the guest's word: it must not lead out of local.
		if !filepath.IsLocal(e.Name()) || filepath.Base(e.Name()) != e.Name() {
			failed = append(failed, fmt.Errorf("file name %q: not a name", e.Name()))
			continue
		}
		from, to := path.Join(remote, e.Name()), filepath.Join(local, e.Name())
		var err error
		switch {
		case e.IsDir():
			if err = os.Mkdir(to, 0o755); err == nil || errors.Is(err, fs.ErrExist) {
				err = getDir(c, from, to)
			}
		case e.Mode().IsRegular():
			err = get(c, from, to)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", from, err))
		}
	}
	return errors.Join(failed...)
}

// files runs f with an SFTP session of its own, which is closed under f when
// ctx ends: the library's calls know no context.
func (g *Guest) files(ctx context.Context, what string, f func(*sftp.Client) error) error {
	c, err := await(ctx, g, func() (*sftp.Client, error) {
		return sftp.NewClient(g.client, sftp.UseConcurrentWrites(true))
	}, func(late *sftp.Client) { late.Close() })
	if err == nil {
		_, err = await(ctx, g, func() (struct{}, error) {
			// Close itself waits for the guest, so it is on this side of await.
			defer c.Close()
			stop := context.AfterFunc(ctx, func() { c.Close() })
			defer stop()
			return struct{}{}, f(c)
		}, func(struct{}) {})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
