package bisect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"spindle/internal/proc"
)

// parents gives the parents of a commit, also those outside of the history.
func (r repo) parents(ctx context.Context, id string) ([]string, error) {
	out, err := r.git(ctx, "rev-parse", id+"^@")
	if err != nil {
		return nil, fmt.Errorf("read parents of %s: %w", short(id), err)
	}
	return strings.Fields(out), nil
}

// revert notes the culprit's parents, and what git makes of its revert on the
// bad end, once.
func (f *Finder) revert(ctx context.Context, culprit int) error {
	c := f.history.Commits[culprit]
	if _, done := f.state.Reverts[c.ID]; done {
		return nil
	}
	parents, err := f.repo.parents(ctx, c.ID)
	if err != nil {
		return err
	}
	r := Revert{Commit: c.ID, Parents: parents, File: "revert-" + c.Short() + ".patch"}
	switch {
	case culprit == len(f.history.Commits)-1:
		r.Why = "it is the bad end: without it there is its parent"
	default:
		id, patch, why, err := f.repo.revert(ctx, f.log.dir, c, f.history.Bad().ID)
		if err != nil {
			return err
		}
		r.ID, r.Why = id, why
		if why == "" {
			if err := os.WriteFile(f.log.path(r.File), patch, 0o644); err != nil {
				return fmt.Errorf("write revert: %w", err)
			}
		}
	}
	if r.Why != "" {
		r.ID, r.File = "", ""
		f.talk.Printf("commit %s is not reverted on the bad end: %s", c.Short(), r.Why)
	}
	return f.note(entry{Revert: &r})
}

// revert has git revert a commit on another one, in a working tree of ours that
// has only the files which the commit touched. It gives the id of what comes
// out and the patch, or why there is none: a conflict, or nothing left to
// revert. The user's repository lends its objects.
//
// A merge is reverted to its first parent.
func (r repo) revert(ctx context.Context, parent string, c Commit, on string) (id string, patch []byte, why string, err error) {
	fail := func(err error) (string, []byte, string, error) {
		return "", nil, "", fmt.Errorf("revert %s: %w", c.Short(), err)
	}
	dir, remove, err := proc.TempDir(ctx, parent, "revert")
	if err != nil {
		return fail(err)
	}
	defer remove()
	objects, err := r.git(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects", "--show-object-format")
	if err != nil {
		return fail(err)
	}
	lines := strings.Split(objects, "\n")
	if len(lines) != 2 {
		return fail(fmt.Errorf("git rev-parse printed %q", objects))
	}
	touched, err := r.git(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", c.ID+"^1", c.ID)
	if err != nil {
		return fail(err)
	}
	own := repo{dir}
	if _, err := own.git(ctx, "init", "--quiet", "--template=", "--object-format="+lines[1]); err != nil {
		return fail(err)
	}
	for name, text := range map[string]string{
		"objects/info/alternates": lines[0] + "\n",
		"info/sparse-checkout":    sparse(touched),
		"info/attributes":         "* -text -eol -crlf -filter -ident -working-tree-encoding !merge\n",
	} {
		path := filepath.Join(dir, ".git", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fail(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fail(err)
		}
	}
	if _, err := own.git(ctx, "-c", "core.sparseCheckout=true", "-c", "core.sparseCheckoutCone=false", "checkout", "--quiet", "--detach", on); err != nil {
		return fail(err)
	}
	args := []string{"-c", "core.sparseCheckout=true", "-c", "core.sparseCheckoutCone=false", "revert", "--no-edit"}
	if c.Merge {
		args = append(args, "-m", "1")
	}
	if _, err := own.git(ctx, append(args, c.ID)...); err != nil {
		var failed *proc.Error
		if !errors.As(err, &failed) || failed.ExitCode < 0 || ctx.Err() != nil {
			return fail(err)
		}
		open, oerr := own.git(ctx, "diff", "--name-only", "--diff-filter=U")
		if oerr != nil {
			return fail(oerr)
		}
		if open != "" {
			return "", nil, "it does not revert cleanly: conflict in " + strings.Join(strings.Fields(open), ", "), nil
		}
		return "", nil, "it does not revert cleanly: git finds nothing of it left, or cannot: " + firstLine(failed.Output), nil
	}
	if id, err = own.git(ctx, "rev-parse", "HEAD"); err != nil {
		return fail(err)
	}
	text, err := own.git(ctx, "format-patch", "-1", "--stdout", "--full-index", "--binary", "--no-signature", "--keep-subject", "--no-renames")
	if err != nil {
		return fail(err)
	}
	return id, []byte(text + "\n"), "", nil
}

// sparse gives the patterns of a sparse checkout that match these files only,
// which are separated by zero bytes. Their form is that of gitignore(5).
func sparse(files string) string {
	var b strings.Builder
	quote := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `)
	for name := range strings.SplitSeq(strings.Trim(files, "\x00"), "\x00") {
		b.WriteString("/" + quote.Replace(name) + "\n")
	}
	return b.String()
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
