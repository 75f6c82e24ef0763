package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"spindle/internal/fault"
	"spindle/internal/store"
)

// Base is source code before patches: a commit in a repository of ours.
type Base struct {
	Repo   Repo
	Commit string
	Name   string // as resolved, for people
	Diff   []byte // of a working tree against its HEAD; nil if they are the same

	user *theirs // where ranges of commits are looked up; nil without
}

var fullID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// Git gives a commit of the repository at a path or URL.
func (env Env) Git(ctx context.Context, where, rev string) (Base, error) {
	if IsURL(where) {
		return env.remote(ctx, where, rev)
	}
	t, err := open(ctx, where)
	if err != nil {
		return Base{}, err
	}
	id, err := t.rev(ctx, rev)
	if err != nil {
		return Base{}, err
	}
	r, err := env.borrow(ctx, t)
	if err != nil {
		return Base{}, err
	}
	return Base{Repo: r, Commit: id, Name: named(where, rev, id), user: &t}, nil
}

func named(where, rev, id string) string {
	if rev == id {
		return where + " " + id
	}
	return fmt.Sprintf("%s %s (%.12s)", where, rev, id)
}

// remote fetches a commit, without its history if the server lets it. One that
// is named by its full id is fetched once; a tag or branch may have moved, so
// it is looked up each time, and an old answer serves where the network does
// not.
func (env Env) remote(ctx context.Context, url, rev string) (Base, error) {
	r, err := env.repo(ctx, "url-"+hash(url)[:16], "sha1", "")
	if err != nil {
		return Base{}, err
	}
	unlock, err := store.Lock(ctx, filepath.Join(r.Dir, "fetch.lock"))
	if err != nil {
		return Base{}, err
	}
	defer unlock()
	found := func(id string) Base {
		return Base{Repo: r, Commit: id, Name: named(url, rev, id), user: &theirs{path: r.Dir, common: r.Dir, format: "sha1"}}
	}
	if fullID.MatchString(rev) && r.has(ctx, rev) {
		return found(rev), nil
	}
	ref := "fetched/" + hash(rev)
	env.Log.Printf("kernel: fetching %s of %s", rev, url)
	_, err = r.git(ctx, "fetch", "--quiet", "--no-tags", "--depth=1", url, "+"+rev+":refs/spindle/"+ref)
	if err != nil && exit(err) > 0 && !unreachable(err) {
		// Short ids, and ids that the server does not hand out by themselves.
		if err = (Base{Repo: r}).deepen(ctx, url); err == nil {
			t := theirs{path: r.Dir}
			id, rerr := t.rev(ctx, rev)
			if rerr != nil {
				return Base{}, &fault.Error{Kind: fault.Plan, Reason: "source", Err: fmt.Errorf("rev %s: no such commit in %s", rev, url)}
			}
			return found(id), r.setRef(ctx, ref, id)
		}
	}
	id := r.ref(ctx, ref)
	switch {
	case err == nil && id != "":
		return found(id), nil
	case id != "" && ctx.Err() == nil:
		env.Log.Printf("kernel: cannot fetch, so %s is what it was at the last time, %.12s: %v", rev, id, err)
		return found(id), nil
	}
	e := fault.New(fault.Machinery, "fetch", fmt.Errorf("fetch %s of %s: %w", rev, url, err))
	e.Hint = "git ls-remote " + url + " " + rev + " must print it; http_proxy in the environment names a proxy"
	return Base{}, e
}

// unreachable says whether git could not talk to the server at all.
func unreachable(err error) bool {
	for _, text := range []string{"Could not resolve host", "unable to access", "Connection refused", "Could not read from remote repository"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// deepen fetches the whole history of a URL's repository, for ranges.
func (b Base) deepen(ctx context.Context, url string) error {
	args := []string{"fetch", "--quiet", url, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"}
	if _, err := os.Stat(filepath.Join(b.Repo.Dir, "shallow")); err == nil {
		args = append(args[:2:2], append([]string{"--unshallow"}, args[2:]...)...)
	}
	if _, err := b.Repo.git(ctx, args...); err != nil {
		return fmt.Errorf("fetch %s: %w", url, err)
	}
	return nil
}

// Worktree gives a directory as it is: what git would commit of it, files that
// are new and not ignored included. Its own index is not touched; ours is kept,
// so that only files with new times are read again.
//
// A directory that is not under git must not have been built in: what is source
// and what is not could not be told.
func (env Env) Worktree(ctx context.Context, dir string) (Base, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "Makefile"))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Base{}, &fault.Error{Kind: fault.Plan, Reason: "source", Err: fmt.Errorf("open tree: %w", err), Hint: "a kernel's tree has a Makefile at its top"}
	} else if err != nil {
		return Base{}, fmt.Errorf("open tree: %w", err)
	}
	b := Base{Name: dir}
	args := []string{"add", "--all"}
	head, excludes, tracked := "", "/dev/null", ""
	top, err := git{at: dir, args: []string{"rev-parse", "--show-toplevel"}}.run(ctx)
	if err == nil && top == dir {
		t, err := open(ctx, dir)
		if err != nil {
			return Base{}, err
		}
		b.user = &t
		if b.Repo, err = env.borrow(ctx, t); err != nil {
			return Base{}, err
		}
		if head, err = t.rev(ctx, "HEAD"); err != nil {
			return Base{}, err
		}
		if own := filepath.Join(t.common, "info", "exclude"); exists(own) {
			excludes = own
		}
		if tracked, err = (git{at: dir, args: []string{"ls-files", "--cached", "-z"}}).run(ctx); err != nil {
			return Base{}, fmt.Errorf("read tree %s: %w", dir, err)
		}
	} else {
		for _, built := range []string{".config", "include/config", "vmlinux", "linux"} {
			if exists(filepath.Join(dir, built)) {
				return Base{}, &fault.Error{Kind: fault.Plan, Reason: "source", Err: fmt.Errorf("tree %s: %s is there: it was built in", dir, built),
					Hint: "clean it with make -C " + dir + " mrproper, or put it under git"}
			}
		}
		if b.Repo, err = env.imports(ctx); err != nil {
			return Base{}, err
		}
		args = append(args, "--force")
	}
	index := filepath.Join(env.Dir, "index", hash(dir)[:16])
	if err := os.MkdirAll(filepath.Dir(index), 0o755); err != nil {
		return Base{}, err
	}
	unlock, err := store.Lock(ctx, index+".flock")
	if err != nil {
		return Base{}, err
	}
	defer unlock()
	// A process that was killed leaves git's own lock.
	os.Remove(index + ".lock")
	in := func(input string, args ...string) (string, error) {
		return git{dir: b.Repo.Dir, at: dir, env: []string{"GIT_INDEX_FILE=" + index, "GIT_WORK_TREE=" + dir}, in: strings.NewReader(input),
			args: append([]string{"-c", "core.bare=false", "-c", "core.excludesFile=" + excludes}, args...)}.run(ctx)
	}
	id, err := func() (string, error) {
		// What is tracked counts, ignored or not: the .gitignore of Debian's
		// source names all of it.
		if _, err := in(tracked, "update-index", "--add", "--remove", "-z", "--stdin"); err != nil {
			return "", err
		}
		if _, err := in("", args...); err != nil {
			return "", err
		}
		if head != "" {
			ignored, err := in("", "ls-files", "--cached", "--ignored", "--exclude-standard", "-z")
			if err != nil {
				return "", err
			}
			if _, err := in(without(ignored, tracked), "update-index", "--force-remove", "-z", "--stdin"); err != nil {
				return "", err
			}
		}
		return in("", "write-tree")
	}()
	if err != nil {
		return Base{}, fmt.Errorf("read tree %s: %w", dir, err)
	}
	return b.wrap(ctx, head, id)
}

// without takes names out of a list; both have a zero byte behind each.
func without(list, names string) string {
	drop := map[string]bool{}
	for name := range strings.SplitSeq(names, "\x00") {
		drop[name] = true
	}
	var out strings.Builder
	for name := range strings.SplitSeq(list, "\x00") {
		if name != "" && !drop[name] {
			out.WriteString(name + "\x00")
		}
	}
	return out.String()
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

// wrap gives b the commit of a tree: head itself if it has just that tree.
func (b Base) wrap(ctx context.Context, head, id string) (Base, error) {
	args := []string{"commit-tree", "-m", "working tree", id}
	if head != "" {
		was, err := b.Repo.git(ctx, "rev-parse", "--verify", head+"^{tree}")
		if err != nil {
			return Base{}, err
		}
		if was == id {
			b.Commit, b.Name = head, named(b.Name, "HEAD", head)
			return b, nil
		}
		args = append(args, "-p", head)
		diff, err := b.Repo.git(ctx, "diff", "--binary", "--full-index", was, id)
		if err != nil {
			return Base{}, err
		}
		b.Diff = []byte(diff + "\n")
		b.Name = fmt.Sprintf("%s (%.12s and changes)", b.Name, head)
	}
	commit, err := git{dir: b.Repo.Dir, at: b.Repo.Dir, args: args,
		env: []string{"GIT_AUTHOR_NAME=spindle", "GIT_AUTHOR_EMAIL=spindle@localhost", "GIT_AUTHOR_DATE=@" + born, "GIT_COMMITTER_DATE=@" + born}}.run(ctx)
	if err != nil {
		return Base{}, err
	}
	b.Commit = commit
	return b, nil
}
