package tree

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"spindle/internal/proc"
)

// unset are the variables by which a user, or a git that runs us in a hook,
// would change what git does.
var unset = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_CEILING_DIRECTORIES",
	"GIT_CONFIG", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_TEMPLATE_DIR", "GIT_DEFAULT_HASH",
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS",
	"GIT_ATTR_SOURCE", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS",
	"GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
	"GIT_INDEX_VERSION", "GIT_DEFAULT_REF_FORMAT", "GIT_PAGER_IN_USE", "GIT_TRACE", "GIT_TRACE2",
}

// set makes git the same program for everybody. The committer is fixed because
// it is hashed into commit ids.
var set = []string{
	"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
	"GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=false", "GIT_PAGER=cat", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1",
	"GIT_COMMITTER_NAME=spindle", "GIT_COMMITTER_EMAIL=spindle@localhost",
	"LC_ALL=C", "TZ=UTC",
}

// config wins over the configuration of whatever repository is read.
var config = []string{
	"core.hooksPath=/dev/null", "core.attributesFile=/dev/null", "core.excludesFile=/dev/null",
	"core.fsmonitor=false", "core.untrackedCache=false", "core.splitIndex=false",
	"core.autocrlf=false", "core.safecrlf=false", "core.fileMode=true", "core.symlinks=true", "core.quotePath=true",
	"core.logAllRefUpdates=false", "core.compression=1", "core.preloadIndex=true", "checkout.workers=0",
	"gc.auto=0", "maintenance.auto=false", "commit.gpgSign=false", "safe.directory=*", "init.defaultBranch=main",
	"advice.detachedHead=false", "protocol.file.allow=always", "diff.noprefix=false", "diff.renames=false",
	"am.keepcr=false", "apply.whitespace=nowarn", "apply.ignoreWhitespace=no", "mailinfo.scissors=false",
	"i18n.commitEncoding=UTF-8", "rerere.enabled=false", "index.sparse=false", "merge.renames=true",
}

// plain is the content of info/attributes of our repositories: files come out
// of git as they went in, whatever the tree's own .gitattributes say.
const plain = "* -text -eol -crlf -filter -ident -working-tree-encoding !merge\n"

// git is one call of the program.
type git struct {
	dir  string // --git-dir; "" lets git find it from at
	at   string // directory to run in
	env  []string
	in   io.Reader
	out  io.Writer // nil keeps it
	args []string
}

func (g git) run(ctx context.Context) (string, error) {
	var args []string
	for _, c := range config {
		args = append(args, "-c", c)
	}
	if g.dir != "" {
		args = append(args, "--git-dir="+g.dir)
	}
	env := append(append(append([]string(nil), unset...), set...), g.env...)
	out, err := proc.Run(ctx, proc.Cmd{
		Path: "git", Args: append(args, g.args...), Dir: g.at, Setenv: env, Stdin: g.in, Stdout: g.out,
	})
	var failed *proc.Error
	if errors.As(err, &failed) {
		// What was asked of git is told, not how it is kept from the rest of
		// the world.
		failed.Cmd = "git " + strings.Join(g.args, " ")
	}
	return string(bytes.TrimRight(out.Stdout, "\n")), err
}

// exit gives git's exit status where that is an answer; -1 if it did not run.
func exit(err error) int {
	var failed *proc.Error
	if errors.As(err, &failed) {
		return failed.ExitCode
	}
	return -1
}
