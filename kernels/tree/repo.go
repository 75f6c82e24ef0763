package tree

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/progress"
	"spindle/internal/store"
)

// Env is what this room takes from its surroundings.
type Env struct {
	Dir string // our repositories, and temporary directories
	Log *progress.Log
}

// Repo is a bare repository of ours.
type Repo struct {
	Dir string
	env Env
}

func (r Repo) git(ctx context.Context, args ...string) (string, error) {
	return git{dir: r.Dir, at: r.Dir, args: args}.run(ctx)
}

// hash names things by what they are.
func hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// repo makes or opens the repository of a name. If objects is not "", it
// borrows from that directory.
func (env Env) repo(ctx context.Context, name, format, objects string) (Repo, error) {
	dir := filepath.Join(env.Dir, "git", name+".git")
	r := Repo{dir, env}
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err == nil {
		return r, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return r, fmt.Errorf("make repository: %w", err)
	}
	unlock, err := store.Lock(ctx, dir+".lock")
	if err != nil {
		return r, err
	}
	defer unlock()
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err == nil {
		return r, nil
	}
	temp, remove, err := proc.TempDir(ctx, filepath.Dir(dir), "new")
	if err != nil {
		return r, err
	}
	defer remove()
	made := filepath.Join(temp, "git")
	if _, err := (git{at: temp, args: []string{"init", "--quiet", "--bare", "--template=", "--object-format=" + format, made}}).run(ctx); err != nil {
		return r, fmt.Errorf("make repository: %w", err)
	}
	files := map[string]string{"info/attributes": plain, "objects/info/alternates": objects + "\n"}
	if objects == "" {
		delete(files, "objects/info/alternates")
	}
	for name, text := range files {
		path := filepath.Join(made, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return r, err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return r, err
		}
	}
	// What failed half-way is in the way of the rename.
	if err := os.RemoveAll(dir); err != nil {
		return r, err
	}
	return r, os.Rename(made, dir)
}

// theirs is a repository of the user's.
type theirs struct {
	path    string // as given, absolute
	objects string // directory
	common  string // directory of the repository itself
	format  string // of objects: sha1 or sha256
}

// open looks at the user's repository. It must be the top of a working tree, a
// bare repository or a .git.
func open(ctx context.Context, path string) (theirs, error) {
	t := theirs{path: path}
	out, err := git{at: path, args: []string{"rev-parse", "--path-format=absolute", "--git-common-dir", "--git-path", "objects", "--show-object-format"}}.run(ctx)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || exit(err) == 128 {
			return t, &fault.Error{Kind: fault.Plan, Reason: "source", Err: fmt.Errorf("open repository %s: %w", path, err),
				Hint: "give a directory that git works in, a bare repository, or a URL; for source code without git write tree: instead of git:"}
		}
		return t, fmt.Errorf("open repository: %w", err)
	}
	lines := strings.Split(out, "\n")
	if len(lines) != 3 {
		return t, fmt.Errorf("open repository %s: git rev-parse printed %q", path, out)
	}
	t.common, t.objects, t.format = lines[0], lines[1], lines[2]
	if t.objects, err = filepath.EvalSymlinks(t.objects); err != nil {
		return t, fmt.Errorf("open repository: %w", err)
	}
	return t, nil
}

// borrow gives our repository that has all objects of theirs.
func (env Env) borrow(ctx context.Context, t theirs) (Repo, error) {
	return env.repo(ctx, "user-"+hash(t.objects)[:16], t.format, t.objects)
}

// rev finds a commit in the user's repository.
func (t theirs) rev(ctx context.Context, rev string) (string, error) {
	id, err := git{at: t.path, args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", rev + "^{commit}"}}.run(ctx)
	if err == nil {
		return id, nil
	}
	if exit(err) < 0 {
		return "", err
	}
	return "", &fault.Error{Kind: fault.Plan, Reason: "source", Err: fmt.Errorf("rev %s: no such commit in %s", rev, t.path),
		Hint: "git -C " + t.path + " log --oneline -1 " + rev + " must print it; is a git fetch --tags due?"}
}

// has says whether all of a commit's own files and directories can be had. It
// is cheap: the commit and its top directory are looked up, what is below came
// with them.
func (r Repo) has(ctx context.Context, commit string) bool {
	if commit == "" {
		return false
	}
	_, err := r.git(ctx, "cat-file", "-e", commit+"^{tree}")
	return err == nil
}

// ref gives the commit that a name of ours stands for, or "".
func (r Repo) ref(ctx context.Context, name string) string {
	id, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "refs/spindle/"+name)
	if err != nil || !r.has(ctx, id) {
		return ""
	}
	return id
}

func (r Repo) setRef(ctx context.Context, name, commit string) error {
	_, err := r.git(ctx, "update-ref", "refs/spindle/"+name, commit)
	return err
}
