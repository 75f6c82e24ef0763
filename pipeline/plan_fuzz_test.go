package pipeline

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"spindle/internal/fault"
)

// FuzzLoad feeds Load anything. It must come back with a plan that lays out,
// or with problems that each have a place in the text.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"plans/*.yaml", "testdata/bad/*.yaml", "testdata/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Add([]byte(whole))
	f.Add([]byte(least))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Load("fuzz.yaml", text)
		if err != nil {
			checkProblems(t, text, err)
			return
		}
		if n := len(p.Arms) * len(p.Grid()) * p.Repeat; n > 20_000 {
			return // laid out by TestLayout; here it costs too much
		}
		checkLayout(t, p, Layout(p))
		if Estimate(p, AssumedOverhead(p.Machine.Accel)) <= 0 {
			t.Error("no time at all")
		}
	})
}

// TestLoadDamaged does in every run what the fuzzer does by chance: it cuts a
// plan off at every byte, and takes out every line.
func TestLoadDamaged(t *testing.T) {
	try := func(text string) {
		t.Helper()
		if p, err := Load("damaged.yaml", []byte(text)); err != nil {
			checkProblems(t, []byte(text), err)
		} else {
			checkLayout(t, p, Layout(p))
		}
	}
	for i := range whole {
		try(whole[:i])
	}
	lines := strings.SplitAfter(whole, "\n")
	for i := range lines {
		try(strings.Join(slices.Delete(slices.Clone(lines), i, i+1), ""))
	}
}

func checkProblems(t *testing.T, text []byte, err error) {
	t.Helper()
	if fault.Of(err) != fault.Plan {
		t.Errorf("fault of %v, want plan", fault.Of(err))
	}
	var ps Problems
	if !errors.As(err, &ps) || len(ps) == 0 {
		t.Fatalf("no problems in %v", err)
	}
	lines := strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n")
	for i, p := range ps {
		if p.Line < 1 || p.Line > len(lines) {
			t.Fatalf("%v: line off the text", p)
		}
		line := strings.TrimSuffix(lines[p.Line-1], "\r")
		if p.Source != line {
			t.Errorf("%v: line is %q", p, line)
		}
		if p.Column < 1 || p.Column > utf8.RuneCountInString(line)+1 || p.Width < 1 {
			t.Errorf("%v: column off the line", p)
		}
		if p.Message == "" {
			t.Errorf("%v: no message", p)
		}
		if i > 0 && (p.Line < ps[i-1].Line || p.Line == ps[i-1].Line && p.Column < ps[i-1].Column) {
			t.Errorf("%v: out of order", p)
		}
	}
	for _, r := range err.Error() {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' {
			t.Fatalf("prints %U", r)
		}
	}
}
