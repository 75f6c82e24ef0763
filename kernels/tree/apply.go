package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"spindle/internal/fault"
	"spindle/internal/proc"
)

// Patch is a patch that was applied.
type Patch struct {
	Subject string
	Commit  string
}

// Code is source code ready to be built.
type Code struct {
	Base
	Head    string // commit with all patches
	Tree    string // git's id of its files
	Patches []Patch
}

// Apply puts patches on top of a base, in order. Each commit is kept under the
// hash of all mails up to it, so that arms which share patches share commits.
func (b Base) Apply(ctx context.Context, mails []Mail) (Code, error) {
	c := Code{Base: b, Head: b.Commit}
	var a *applier
	defer func() {
		if a != nil {
			a.remove()
		}
	}()
	chain := b.Commit
	for i, m := range mails {
		chain = hash(chain, strconv.Itoa(m.Level), string(m.Text))
		ref := "series/" + chain
		id := b.Repo.ref(ctx, ref)
		if id == "" {
			var err error
			if a == nil {
				if a, err = b.applier(ctx, c.Head); err != nil {
					return c, fmt.Errorf("apply series: %w", err)
				}
			}
			if id, err = a.apply(ctx, m); err != nil {
				var f *fault.Error
				if errors.As(err, &f) && f.Kind == fault.Kernel {
					f.Err = fmt.Errorf("patch %d of %d %q does not apply to %s: %w", i+1, len(mails), m.Subject, b.Name, f.Err)
				}
				return c, err
			}
			if err := b.Repo.setRef(ctx, ref, id); err != nil {
				return c, fmt.Errorf("apply series: %w", err)
			}
		} else if a != nil {
			a.remove() // its files are behind
			a = nil
		}
		c.Head = id
		c.Patches = append(c.Patches, Patch{m.Subject, id})
	}
	tree, err := b.Repo.git(ctx, "rev-parse", "--verify", c.Head+"^{tree}")
	c.Tree = tree
	return c, err
}

// applier is a place where git am works: an index with all files of a commit,
// and a working directory with none. What a patch touches git writes there
// itself; 85,000 files that nobody looks at stay in the repository.
type applier struct {
	repo   Repo
	dir    string
	remove func() error
}

func (b Base) applier(ctx context.Context, at string) (*applier, error) {
	dir, remove, err := b.Repo.env.temp(ctx)
	if err != nil {
		return nil, err
	}
	a := &applier{b.Repo, dir, remove}
	err = func() error {
		format := "sha1"
		if len(at) == 64 {
			format = "sha256"
		}
		if _, err := (git{at: dir, args: []string{"init", "--quiet", "--template=", "--object-format=" + format, "."}}).run(ctx); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(dir, ".git/info"), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, ".git/info/attributes"), []byte(plain), 0o644); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, ".git/HEAD"), []byte(at+"\n"), 0o644); err != nil {
			return err
		}
		_, err := a.git(ctx, "read-tree", at)
		return err
	}()
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	return a, nil
}

// git runs in the working directory, with the objects of our repository.
func (a *applier) git(ctx context.Context, args ...string) (string, error) {
	return git{at: a.dir, args: args, env: a.env()}.run(ctx)
}

func (a *applier) env() []string {
	return []string{"GIT_DIR=" + filepath.Join(a.dir, ".git"), "GIT_WORK_TREE=" + a.dir, "GIT_OBJECT_DIRECTORY=" + filepath.Join(a.repo.Dir, "objects")}
}

// apply applies one mail and gives the commit. Whether git could not apply it,
// or could not work, is told by what it left: the former stops an am, with the
// patch in .git/rebase-apply.
func (a *applier) apply(ctx context.Context, m Mail) (string, error) {
	before, err := a.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	if err := a.bring(ctx, m); err != nil {
		return "", err
	}
	file := filepath.Join(a.dir, ".git", "spindle-mail")
	if err := os.WriteFile(file, m.Text, 0o644); err != nil {
		return "", err
	}
	_, err = a.git(ctx, "am", "--quiet", "--3way", "--committer-date-is-author-date", "--no-gpg-sign", "--no-keep-cr", "--patch-format=mboxrd", "-p"+strconv.Itoa(m.Level), file)
	if err != nil {
		return "", a.explain(ctx, m, err)
	}
	after, err := a.git(ctx, "rev-parse", "HEAD")
	if err == nil && after == before {
		// git am goes on without a word where a merge leaves no change.
		return "", &fault.Error{Kind: fault.Kernel, Reason: "patch", Err: errors.New("the tree has all of its changes already"),
			Hint: "take the patch out of the series, or name a rev before it was merged"}
	}
	return after, err
}

// bring writes the files that a mail is about into the working directory, where
// git am wants them if it has to merge.
func (a *applier) bring(ctx context.Context, m Mail) error {
	var names strings.Builder
	for _, name := range m.files {
		parts := strings.SplitN(name, "/", m.Level+1)
		if len(parts) == m.Level+1 && name != "/dev/null" {
			names.WriteString(parts[m.Level] + "\x00")
		}
	}
	// Files that are new with the patch are in no index: --quiet.
	_, err := git{at: a.dir, in: strings.NewReader(names.String()), env: a.env(), args: []string{"checkout-index", "--quiet", "--force", "--index", "-z", "--stdin"}}.run(ctx)
	if exit(err) > 0 && !fault.TellsDiskFull(err.Error()) {
		err = nil
	}
	return err
}

// explain asks git apply, which says what it looked for and where.
func (a *applier) explain(ctx context.Context, m Mail, err error) error {
	var failed *proc.Error
	patch := filepath.Join(a.dir, ".git/rebase-apply/patch")
	if !errors.As(err, &failed) || failed.ExitCode <= 0 || fault.TellsDiskFull(failed.Output) {
		return fmt.Errorf("apply %q: %w", m.Subject, err)
	}
	text, rerr := os.ReadFile(patch)
	said := gitSays(failed.Output)
	hunk := ""
	if rerr == nil {
		// The attempt to merge has left conflicts in the index.
		if _, err := a.git(ctx, "read-tree", "HEAD"); err != nil {
			return err
		}
		_, aerr := a.git(ctx, "apply", "--check", "--verbose", "--cached", "-p"+strconv.Itoa(m.Level), patch)
		var told *proc.Error
		if errors.As(aerr, &told) {
			if more := gitSays(told.Output); len(more) > 0 {
				said = more
			}
			hunk = hunkAt(string(text), told.Output)
		}
	}
	if len(said) == 0 {
		said = []string{"git am stopped"}
	}
	return &fault.Error{Kind: fault.Kernel, Reason: "patch", Err: errors.New(strings.Join(said, "; ")), Tail: hunk,
		Hint: "is rev: the commit that the series was made for? its cover letter may name it (base-commit:)"}
}

// gitSays takes the errors out of git's output.
func gitSays(output string) []string {
	var out []string
	for line := range strings.Lines(output) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "error: ")
		if !ok {
			text, ok = strings.CutPrefix(strings.TrimSpace(line), "fatal: ")
		}
		if ok && !strings.HasPrefix(text, "while searching for") && !slices.Contains(out, text) && len(out) < 4 {
			out = append(out, text)
		}
	}
	return out
}

var (
	failedAt  = regexp.MustCompile(`(?m)^error: patch failed: (.+):(\d+)$`)
	hunkStart = regexp.MustCompile(`^@@ -(\d+)`)
)

// hunkAt finds the hunk that git apply speaks of in a patch.
func hunkAt(patch, output string) string {
	m := failedAt.FindStringSubmatch(output)
	if m == nil {
		return ""
	}
	var hunk []string
	inFile, inHunk := false, false
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "diff --git "), strings.HasPrefix(line, "--- "):
			if inHunk {
				return strings.Join(hunk, "\n")
			}
			inFile = strings.HasSuffix(line, "/"+m[1]) || strings.HasSuffix(line, " "+m[1])
		case hunkStart.MatchString(line):
			if inHunk {
				return strings.Join(hunk, "\n")
			}
			inHunk = inFile && hunkStart.FindStringSubmatch(line)[1] == m[2]
		}
		if inHunk {
			hunk = append(hunk, line)
		}
	}
	return strings.Join(hunk, "\n")
}
