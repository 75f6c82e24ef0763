package tree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Checkout makes a directory the files of the code, with git's own files in
// gitdir and none in the directory. Files that are the same as at the last
// checkout keep their times, by which make knows that nothing is to be done;
// what else is in the directory is removed.
func (c Code) Checkout(ctx context.Context, gitdir, dir string) error {
	run := func(args ...string) error {
		_, err := git{at: dir, args: args, env: []string{"GIT_DIR=" + gitdir, "GIT_WORK_TREE=" + dir}}.run(ctx)
		return err
	}
	err := func() error {
		if !exists(filepath.Join(gitdir, "HEAD")) {
			format := "sha1"
			if len(c.Head) == 64 {
				format = "sha256"
			}
			if err := run("init", "--quiet", "--template=", "--object-format="+format); err != nil {
				return err
			}
		}
		for name, text := range map[string]string{
			"objects/info/alternates": filepath.Join(c.Repo.Dir, "objects") + "\n",
			"info/attributes":         plain,
		} {
			path := filepath.Join(gitdir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return err
			}
		}
		os.Remove(filepath.Join(gitdir, "index.lock")) // of a git that was killed
		if err := run("checkout", "--quiet", "--force", "--detach", c.Head); err != nil {
			return err
		}
		return run("clean", "--quiet", "-ffdx")
	}()
	if err != nil {
		return fmt.Errorf("check out source: %w", err)
	}
	return nil
}

// File gives the content of one file of the code.
func (c Code) File(ctx context.Context, path string) (string, error) {
	return c.Repo.git(ctx, "cat-file", "blob", c.Head+":"+path)
}
