package text

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"INFO: task  kworker\tblocked\r\n":            "INFO: task kworker blocked",
		"\x1b[31mred":                                 "?[31mred",
		"bad \xff byte":                               "bad ? byte",
		"<script>alert(1)</script>":                   `\<script>alert(1)\</script>`,
		"![x](http://example.org/pixel)":              `![x]\(http://example.org/pixel)`,
		"`rm -rf`":                                    "\\`rm -rf\\`",
		"right-to-left \u202e override\u00a0no-break": "right-to-left ? override no-break",
		"":   "",
		"  ": "",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"short": {"a b", "- a b\n"},
		"long": {
			strings.Repeat("word ", 20),
			"- word word word word word word word word word word word word word word\n  word word word word word word\n",
		},
		"kept together": {
			strings.Repeat("x", 66) + " 15" + NBSP + "%",
			"- " + strings.Repeat("x", 66) + "\n  15 %\n",
		},
		"no list by accident": {
			strings.Repeat("x", 60) + " yyyy - 1. # z",
			"- " + strings.Repeat("x", 60) + "\n  yyyy - 1. # z\n",
		},
		"a path": {
			"see samples/b2/" + strings.Repeat("name_", 20) + "/console.log",
			"- see\n  samples/b2/" + strings.Repeat("name_", 11) + "\n  " + strings.Repeat("name_", 9) + "/console.log\n",
		},
		"no place to break": {strings.Repeat("x", 150), "- " + strings.Repeat("x", 70) + "\n  " + strings.Repeat("x", 70) + "\n  " + strings.Repeat("x", 10) + "\n"},
		"empty":             {"", "-\n"},
	} {
		if d := cmp.Diff(tt.want, Wrap(tt.in, "- ", "  ")); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// FuzzWrap holds any text to the width, and loses nothing of it.
func FuzzWrap(f *testing.F) {
	f.Add("one two  three", "[1] ")
	f.Add(strings.Repeat("aé", 100)+" - x", "")
	f.Add("\x00\xff\u00a0\u2028 <b>", "- ")
	f.Fuzz(func(t *testing.T, s, first string) {
		first = Cut(Clean(first), 20)
		clean := Clean(s)
		got := Wrap(clean, first, "  ")
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > Width {
				t.Errorf("line of %d columns: %q", n, line)
			}
		}
		if !strings.HasSuffix(got, "\n") || strings.Contains(got, "\n\n") {
			t.Errorf("lines are not whole: %q", got)
		}
		squeeze := strings.NewReplacer(" ", "", "\n", "")
		if a, b := squeeze.Replace(first+clean), squeeze.Replace(got); a != b {
			t.Errorf("text changed:\n%q\n%q", a, b)
		}
	})
}

func TestTable(t *testing.T) {
	table := Table{
		Head:  []string{"fs", "vanilla", "change"},
		Rows:  [][]string{{"ext4", "87.5 ± 1.0", "+15" + NBSP + "%"}, {"a|b", "1"}},
		Right: []bool{false, true},
	}
	want := `
| fs   |    vanilla | change |
|------|-----------:|--------|
| ext4 | 87.5 ± 1.0 | +15 %  |
| a\|b |          1 |        |
`
	if d := cmp.Diff(want, "\n"+table.String()); d != "" {
		t.Errorf("table (-want +got):\n%s", d)
	}
	if !table.Fits(Width) {
		t.Error("a narrow table does not fit")
	}
	// 72 columns: two bars, two spaces, and 68 of text.
	if !(Table{Head: []string{strings.Repeat("x", 68)}}).Fits(Width) || (Table{Head: []string{strings.Repeat("x", 69)}}).Fits(Width) {
		t.Error("the limit is not at 72 columns")
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{{"vanilla", 7, "vanilla"}, {"vanilla", 6, "vani.."}, {"vanilla", 2, ".."}, {"vanilla", 0, ""}, {`abc\<x`, 6, `abc\<x`}, {`abc\<xy`, 6, "abc.."}, {"añb", 3, "añb"}} {
		if got := Cut(tt.in, tt.n); got != tt.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}
