package tree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"spindle/internal/fault"
)

// Range gives the patches of a range of commits A..B in the repository that the
// base is from, oldest first. url is that of the repository if it is elsewhere.
// Merges have no patch and are a fault of the plan.
func (b Base) Range(ctx context.Context, url, span string) ([]Mail, error) {
	if b.user == nil {
		return nil, fault.Planf("series %s: a range of commits belongs to a repository", span)
	}
	if url != "" {
		if err := b.deepen(ctx, url); err != nil {
			return nil, err
		}
	}
	from, to, _ := strings.Cut(strings.Replace(span, "...", "..", 1), "..")
	ends := []*string{&from, &to}
	for _, end := range ends {
		id, err := b.user.rev(ctx, *end)
		if err != nil {
			return nil, fmt.Errorf("series %s: %w", span, err)
		}
		*end = id
	}
	commits := from + ".." + to
	merges, err := b.Repo.git(ctx, "rev-list", "--merges", "--abbrev-commit", commits)
	if err != nil {
		return nil, fmt.Errorf("series %s: %w", span, err)
	}
	if merges != "" {
		return nil, fault.Planf("series %s: it has merges (%s), which are no patches: rebase it", span, strings.Join(strings.Fields(merges), ", "))
	}
	dir, remove, err := b.Repo.env.temp(ctx)
	if err != nil {
		return nil, err
	}
	defer remove()
	if _, err := b.Repo.git(ctx, "format-patch", "--quiet", "--keep-subject", "--full-index", "--binary", "--no-signature", "--no-attach", "--no-thread", "--output-directory="+dir, commits); err != nil {
		return nil, fmt.Errorf("series %s: %w", span, err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fault.Planf("series %s: there is no commit in it", span)
	}
	slices.Sort(names)
	var mails []Mail
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		m, ok, err := b.Repo.env.look(ctx, filepath.Base(name), text)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fault.Planf("series %s: commit %s changes nothing", span, filepath.Base(name))
		}
		mails = append(mails, m)
	}
	return mails, nil
}
