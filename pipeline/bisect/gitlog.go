package bisect

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"
)

// gitLogFile is what is known, in the form of git bisect log: git bisect replay
// takes it. It is made anew from the other log, and never read.
const gitLogFile = "git-bisect.log"

// surely is the probability at which a commit stands in git's log as good or
// bad: git knows nothing in between.
const surely = 0.95

// writeGitLog writes it. posterior is that of the history's commits to be the
// culprit, or nil before the search.
func writeGitLog(dir string, s *State, h *History, posterior []float64) error {
	return renameio.WriteFile(filepath.Join(dir, gitLogFile), gitLog(s, h, posterior), 0o644, renameio.WithTempDir(dir))
}

func gitLog(s *State, h *History, posterior []float64) []byte {
	var b bytes.Buffer
	word := func(state string, c Commit, why string) {
		fmt.Fprintf(&b, "# %s: [%s] %s\n", state, c.ID, c.Subject)
		if why != "" {
			fmt.Fprintf(&b, "# %s\n", why)
		}
		fmt.Fprintf(&b, "git bisect %s %s\n", state, c.ID)
	}
	fmt.Fprint(&b, "git bisect start")
	if len(s.Start.Paths) > 0 {
		fmt.Fprint(&b, " '--'")
		for _, p := range s.Start.Paths {
			fmt.Fprintf(&b, " %s", quoteShell(p))
		}
	}
	fmt.Fprintln(&b)
	word("bad", h.Bad(), "")
	word("good", h.Good(), "")
	var isBad []float64
	if posterior != nil {
		isBad = h.inherit(posterior)
	}
	told := map[int]bool{0: true, len(h.Commits) - 1: true}
	for _, x := range s.facts {
		var id string
		switch {
		case x.kernel != nil:
			id = x.kernel.Commit // of one that was measured, perhaps under another name
		case x.skip != nil:
			id = x.skip.Commit
		case x.sample != nil:
			id = x.sample.Commit
		}
		i := h.Index(id)
		if i < 0 || told[i] {
			continue
		}
		c := h.Commits[i]
		skip, skipped := s.Skips[id]
		n := s.count(id)
		switch {
		case skipped:
			word("skip", c, clean(skip.says()))
		case n == 0:
			continue
		case isBad != nil && isBad[i] >= surely:
			word("bad", c, fmt.Sprintf("with probability %.3f, by %d samples", isBad[i], n))
		case isBad != nil && isBad[i] <= 1-surely:
			word("good", c, fmt.Sprintf("with probability %.3f, by %d samples", 1-isBad[i], n))
		default:
			fmt.Fprintf(&b, "# not decided: [%s] %s\n# %d samples\n", c.ID, c.Subject, n)
		}
		told[i] = true
	}
	for i, p := range posterior {
		if p >= surely {
			fmt.Fprintf(&b, "# first bad commit: [%s] %s\n", h.Commits[i].ID, h.Commits[i].Subject)
		}
	}
	return b.Bytes()
}

// inherit gives for each commit the probability that it has the culprit among
// its ancestors or is it. Only merges walk their history: what their parents
// share would count twice.
func (h *History) inherit(posterior []float64) []float64 {
	out := make([]float64, len(h.Commits))
	seen := make([]int, len(h.Commits)) // the last merge that came by
	for i, c := range h.Commits {
		out[i] = posterior[i]
		switch len(c.Parents) {
		case 0:
		case 1:
			out[i] += out[c.Parents[0]]
		default:
			stack := slices.Clone(c.Parents)
			for len(stack) > 0 {
				p := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				if seen[p] == i {
					continue
				}
				seen[p] = i
				out[i] += posterior[p]
				stack = append(stack, h.Commits[p].Parents...)
			}
		}
	}
	return out
}

// quoteShell quotes a word as git's log does.
func quoteShell(s string) string {
	var b bytes.Buffer
	b.WriteByte('\'')
	for _, r := range s {
		if r == '\'' || r == '!' {
			fmt.Fprintf(&b, `'\%c'`, r)
			continue
		}
		b.WriteRune(r)
	}
	b.WriteByte('\'')
	return b.String()
}
