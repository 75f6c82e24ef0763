package bisect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRevert(t *testing.T) {
	s := newStory(t)
	s.replace("clean", "mm: one", "", "level 1.1\n")
	s.code(2)
	s.replace("hidden", "mm: two", "code\ncode\ncode\n", "code\nlevel 1.2\ncode\n")
	s.replace("", "mm: two, otherwise", "level 1.2\n", "level 1.3\n")
	s.write("a[b] *.c", "text\n")
	s.commit("odd", "fs: a file with a name")
	s.git("checkout", "--quiet", "-b", "side", "HEAD~1")
	s.write("side", "text\n")
	s.commit("", "fs: aside")
	s.git("checkout", "--quiet", "main")
	s.merge("side")
	s.names["merge"] = s.git("rev-parse", "HEAD")
	s.docs(1)
	bad := s.git("rev-parse", "HEAD")
	h, err := repo{s.dir}.readHistory(t.Context(), s.names["base"], bad, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, why string }{
		{"clean", ""}, {"odd", ""}, {"merge", ""},
		{"hidden", "it does not revert cleanly: conflict in code"},
	} {
		dir := t.TempDir()
		before := s.git("count-objects", "-v")
		id, patch, why, err := repo{s.dir}.revert(t.Context(), dir, h.Commits[h.Index(s.names[test.name])], bad)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if after := s.git("count-objects", "-v"); after != before {
			t.Errorf("%s: the user's repository was written: %s, was %s", test.name, after, before)
		}
		if why != test.why || (id == "") != (why != "") {
			t.Errorf("%s: %q, commit %q", test.name, why, id)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v", test.name, left)
		}
		if why != "" {
			continue
		}
		// git itself applies it to the bad end, and what comes out is the bad end
		// with the commit taken back.
		work := filepath.Join(t.TempDir(), "work")
		s.git("worktree", "add", "--quiet", "--detach", work, bad)
		file := filepath.Join(dir, "revert.patch")
		if err := os.WriteFile(file, patch, 0o644); err != nil {
			t.Fatal(err)
		}
		s.git("-C", work, "am", "--quiet", file)
		if subject := s.git("-C", work, "log", "-1", "--format=%s"); !strings.HasPrefix(subject, "Revert ") {
			t.Errorf("%s: subject %q", test.name, subject)
		}
		args := []string{"-C", work, "revert", "--no-edit", s.names[test.name]}
		if test.name == "merge" {
			args = append(args, "-m", "1")
		}
		tree := s.git("-C", work, "rev-parse", "HEAD^{tree}")
		s.git("-C", work, "reset", "--hard", "--quiet", bad)
		s.git(args...)
		if own := s.git("-C", work, "rev-parse", "HEAD^{tree}"); own != tree {
			t.Errorf("%s: tree %s, and by git revert in the whole tree %s", test.name, tree, own)
		}
		s.git("worktree", "remove", "--force", work)
	}
}
