package bisect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"spindle/internal/fault"
)

// Commit is one commit of the history that is searched.
type Commit struct {
	ID      string
	Parents []int // indexes in History.Commits, all smaller than its own
	Subject string
	Author  string // name and address
	Merge   bool   // has more than one parent, here or outside of the history
}

// Short is the commit as Fixes: lines have it (12 digits, by
// Documentation/process/submitting-patches.rst of the kernel).
func (c Commit) Short() string { return short(c.ID) }

func short(id string) string { return id[:min(12, len(id))] }

// History is what lies between the ends: the good end first, the bad end last,
// parents before their children.
type History struct {
	Commits []Commit
	index   map[string]int
}

// Index gives the place of a commit; -1 if it is not in the history.
func (h *History) Index(id string) int {
	if i, ok := h.index[id]; ok {
		return i
	}
	return -1
}

// Good and Bad are the ends.
func (h *History) Good() Commit { return h.Commits[0] }

// Bad is the end after the change.
func (h *History) Bad() Commit { return h.Commits[len(h.Commits)-1] }

// readHistory reads the commits from which bad descends and good does not, and
// good itself. With paths it is what git log shows for them: commits that touch
// none are left out, and each is a child of the next one before it that is in.
// The bad end is in either way: a change that lies in no path is found there.
func (r repo) readHistory(ctx context.Context, good, bad string, paths []string) (*History, error) {
	if good == bad {
		return nil, fault.Planf("--good and --bad are one commit, %s", short(good))
	}
	if _, err := r.git(ctx, "merge-base", "--is-ancestor", good, bad); said(err) {
		return nil, r.apart(ctx, good, bad)
	} else if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	args := append([]string{"rev-list", "--reverse", "--topo-order", "--parents", "--format=tformat:%P%x00%an <%ae>%x00%s", good + ".." + bad, "--"}, paths...)
	out, err := r.git(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	h := &History{index: map[string]int{}}
	if err := r.addOne(ctx, h, good); err != nil {
		return nil, err
	}
	if err := h.read(out); err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	if h.Index(bad) < 0 {
		if err := r.addOne(ctx, h, bad); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// read takes in what rev-list printed: two lines a commit.
func (h *History) read(out string) error {
	if out == "" {
		return nil
	}
	lines := strings.Split(out, "\n")
	if len(lines)%2 != 0 {
		return errors.New("git rev-list ended in the middle of a commit")
	}
	for i := 0; i < len(lines); i += 2 {
		ids, ok := strings.CutPrefix(lines[i], "commit ")
		words := strings.Fields(ids)
		said := strings.SplitN(lines[i+1], "\x00", 3)
		if !ok || len(words) == 0 || len(said) != 3 {
			return fmt.Errorf("git rev-list printed %q", lines[i])
		}
		h.add(words[0], words[1:], said)
	}
	return nil
}

// add appends a commit. A commit without a parent in the history hangs on none:
// it branched off before the good end.
func (h *History) add(id string, parents, said []string) {
	c := Commit{ID: id, Merge: strings.Contains(said[0], " "), Author: said[1], Subject: said[2]}
	for _, p := range parents {
		if i := h.Index(p); i >= 0 {
			c.Parents = append(c.Parents, i)
		}
	}
	h.index[id] = len(h.Commits)
	h.Commits = append(h.Commits, c)
}

// addOne adds an end, below which are all heads there are so far.
func (r repo) addOne(ctx context.Context, h *History, id string) error {
	out, err := r.git(ctx, "log", "-1", "--format=tformat:%P%x00%an <%ae>%x00%s", id)
	if err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	said := strings.SplitN(out, "\x00", 3)
	if len(said) != 3 {
		return fmt.Errorf("read history: git log printed %q", out)
	}
	heads := map[int]bool{}
	for i, c := range h.Commits {
		heads[i] = true
		for _, p := range c.Parents {
			delete(heads, p)
		}
	}
	h.add(id, nil, said)
	c := &h.Commits[len(h.Commits)-1]
	for i := range h.Commits {
		if heads[i] {
			c.Parents = append(c.Parents, i)
		}
	}
	return nil
}

// apart is the error for ends of which one does not descend from the other.
func (r repo) apart(ctx context.Context, good, bad string) error {
	if _, err := r.git(ctx, "merge-base", "--is-ancestor", bad, good); err == nil {
		return &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("--good %s descends from --bad %s", short(good), short(bad)),
			Hint: "swap them: a commit that made things better is found like one that made them worse, with the older commit as --good"}
	}
	base, err := r.git(ctx, "merge-base", good, bad)
	if err != nil || base == "" {
		return fault.Planf("--good %s and --bad %s have no history in common", short(good), short(bad))
	}
	return &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("--bad %s does not descend from --good %s", short(bad), short(good)),
		Hint: fmt.Sprintf("they part at %s: give that as --good, if it is", short(base))}
}
