package pipeline

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
)

var update = flag.Bool("update", false, "write the golden files anew")

// want is an expectation written into a bad plan by hand: place and part of
// the message. The golden file beside it holds the whole text.
var want = regexp.MustCompile(`(?m)^# want (\d+:\d+) (.*?)\r?$`)

// TestBad loads every plan of testdata/bad. Each says itself which problems
// it has, and where; there must be no others.
func TestBad(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d plans in testdata/bad, error %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p, err := Load(name+".yaml", text)
			if err == nil || p != nil {
				t.Fatal("loads")
			}
			if fault.Of(err) != fault.Plan {
				t.Errorf("fault of %v, want plan", fault.Of(err))
			}
			var got Problems
			if !errors.As(err, &got) {
				t.Fatalf("error of type %T, want Problems", err)
			}
			wants := want.FindAllStringSubmatch(string(text), -1)
			for i := range max(len(wants), len(got)) {
				switch {
				case i >= len(got):
					t.Errorf("not reported: %s", wants[i][0])
				case i >= len(wants):
					t.Errorf("not expected: %v", got[i])
				case wants[i][1] != fmt.Sprintf("%d:%d", got[i].Line, got[i].Column) || !strings.Contains(got[i].Message, wants[i][2]):
					t.Errorf("want %s\ngot  %v", wants[i][0], got[i])
				}
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".txt", err.Error()+"\n")
		})
	}
}

// golden compares text with a file, which -update writes.
func golden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestProblem(t *testing.T) {
	for _, tc := range []struct {
		name          string
		source        string
		column, width int
		line, caret   string
	}{
		{"word", "filesystem: [ext5, xfs]", 14, 4, "filesystem: [ext5, xfs]", "             ^~~~"},
		{"tab before", "\ta: b", 5, 1, "\ta: b", "\t   ^"},
		{"behind the end", "a:", 3, 1, "a:", "  ^"},
		{"wider than the line", "a: b", 4, 9, "a: b", "   ^"},
		{"empty line", "", 1, 1, "", "^"},
		{"escape sequence", "a: \x1b[31m", 4, 1, "a: ?[31m", "   ^"},
		{"two columns a character", "a: [日本, b]", 9, 1, "a: [日本, b]", "          ^"},
		{"not UTF-8", "a: \xff", 4, 1, "a: ?", "   ^"},
		{"start of a long line", strings.Repeat("x", 200), 1, 2, strings.Repeat("x", 100), "^~"},
		{"end of a long line", strings.Repeat("x", 200) + "y", 201, 1, "... " + strings.Repeat("x", 60) + "y", strings.Repeat(" ", 64) + "^"},
		{"wider than the window", strings.Repeat("x", 200), 1, 200, strings.Repeat("x", 100), "^" + strings.Repeat("~", 99)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			line, caret := underline(tc.source, tc.column, tc.width)
			if line != tc.line || caret != tc.caret {
				t.Errorf("got\n%q\n%q\nwant\n%q\n%q", line, caret, tc.line, tc.caret)
			}
		})
	}
}

func TestProblemsAreBounded(t *testing.T) {
	text := "name: n\n" + strings.Repeat("filesystem: [ext5]\n", 1)
	for i := range 30 {
		text += fmt.Sprintf("key%d: 1\n", i)
	}
	_, err := Load("x", []byte(text))
	if err == nil {
		t.Fatal("loads")
	}
	if n := strings.Count(err.Error(), "\n"); n > 3*problemsShown {
		t.Errorf("%d lines", n)
	}
	if !strings.HasSuffix(err.Error(), " more") {
		t.Errorf("does not say that there are more: %s", err)
	}
}

func TestTooMuch(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"size", strings.Repeat("# long\n", 40_000), "280000 bytes are too many"},
		{"line", "name: " + strings.Repeat("x", 5000), "the line has 5006 bytes"},
		{"flow nesting", "name: " + strings.Repeat("[", 1000), "nested more than 64 deep"},
		{"block nesting", "name:\n  " + strings.Repeat("- ", 100) + "a", "nested more than 64 deep"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Load("x", []byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	filesystems := []string{"ext4", "xfs", "btrfs", "ext3", "ext2"}
	for _, tc := range []struct {
		word, want string
		known      []string
	}{
		{"ext5", "ext4", filesystems},
		{"EXT3", "ext3", filesystems},
		{"btfrs", "btrfs", filesystems},
		{"jfs", "xfs", filesystems},
		{"reiser4", "", filesystems},
		{"", "", filesystems},
		{"x", "", filesystems},
		{"deadline", "mq-deadline", []string{"none", "mq-deadline", "bfq"}},
		{"mq_deadline", "mq-deadline", []string{"none", "mq-deadline", "bfq"}},
		{"queue", "", []string{"queue-depth", "queue-size"}},
		{"queue_dept", "queue-depth", []string{"queue-depth", "queue-size"}},
		{strings.Repeat("x", 1000), "", filesystems},
	} {
		if got := nearest(tc.word, tc.known); got != tc.want {
			t.Errorf("nearest(%q) = %q, want %q", tc.word, got, tc.want)
		}
	}
}

// The distances are the textbook's: kitten and sitting, Sunday and Saturday
// for insertions and changes; ca and abc tells optimal string alignment (3)
// from Damerau's distance (2).
func TestSlips(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"sunday", "saturday", 3}, {"ca", "abc", 3}, {"ab", "ba", 1},
	} {
		if got := slips(tc.a, tc.b); got != tc.want {
			t.Errorf("slips(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
