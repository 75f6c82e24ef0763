package bisect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"spindle/internal/fault"
	"spindle/internal/proc"
)

// repo is a repository of the user's. It is read and never written.
type repo struct{ dir string }

// unset are the variables by which a git that runs us, in a hook or in git
// bisect run, would send our git elsewhere.
var unset = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_CONFIG", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS",
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_EXTERNAL_DIFF",
	"GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_TRACE", "GIT_TRACE2",
}

var set = []string{
	"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
	"GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=false", "GIT_PAGER=cat", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1",
	"GIT_AUTHOR_NAME=spindle", "GIT_AUTHOR_EMAIL=spindle@localhost",
	"GIT_COMMITTER_NAME=spindle", "GIT_COMMITTER_EMAIL=spindle@localhost",
	// The same revert has the same id each time.
	"GIT_AUTHOR_DATE=@946684800 +0000", "GIT_COMMITTER_DATE=@946684800 +0000",
	"LC_ALL=C", "TZ=UTC",
}

// config wins over that of the repository.
var config = []string{
	"core.hooksPath=/dev/null", "core.attributesFile=/dev/null", "core.excludesFile=/dev/null",
	"core.fsmonitor=false", "core.quotePath=true", "core.autocrlf=false", "core.safecrlf=false",
	"gc.auto=0", "maintenance.auto=false", "commit.gpgSign=false", "safe.directory=*", "rerere.enabled=false",
	"i18n.logOutputEncoding=UTF-8", "i18n.commitEncoding=UTF-8", "log.showSignature=false", "log.mailmap=false",
	"diff.noprefix=false", "diff.renames=false", "merge.renames=true", "merge.conflictStyle=merge",
	"advice.detachedHead=false",
}

// git runs the program in the repository, without the user's configuration and
// hooks.
func (r repo) git(ctx context.Context, args ...string) (string, error) {
	var all []string
	for _, c := range config {
		all = append(all, "-c", c)
	}
	all = append(all, args...)
	env := append(append([]string(nil), unset...), set...)
	out, err := proc.Run(ctx, proc.Cmd{Path: "git", Args: all, Dir: r.dir, Setenv: env})
	var failed *proc.Error
	if errors.As(err, &failed) {
		failed.Cmd = "git " + strings.Join(args, " ")
	}
	return strings.TrimRight(string(out.Stdout), "\n"), err
}

// said tells git's answer "no" from a git that did not work.
func said(err error) bool {
	var failed *proc.Error
	return errors.As(err, &failed) && failed.ExitCode == 1
}

// openRepo looks at the repository that a plan names.
func openRepo(ctx context.Context, dir string) (repo, error) {
	r := repo{dir}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return r, fault.Planf("open repository: %w", err)
	}
	shallow, err := r.git(ctx, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return r, &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("open repository %s: %w", dir, err), Hint: "git: in the plan names a directory that git works in, or a bare repository"}
	}
	if shallow == "true" {
		return r, &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("open repository %s: it is shallow, and commits between the ends may be missing", dir),
			Hint: "git -C " + dir + " fetch --unshallow"}
	}
	return r, nil
}

// commit gives the full id of what a person calls a commit.
func (r repo) commit(ctx context.Context, flag, rev string) (string, error) {
	if rev == "" || strings.HasPrefix(rev, "-") {
		return "", fault.Planf("%s %q: want a commit, by a tag, a branch or a hash", flag, rev)
	}
	id, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err == nil {
		return id, nil
	}
	if said(err) {
		return "", &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("%s %s: no such commit in %s", flag, rev, r.dir), Hint: "git -C " + r.dir + " log --oneline -1 " + rev + " must print it"}
	}
	return "", err
}
