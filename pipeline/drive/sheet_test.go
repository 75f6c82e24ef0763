package drive

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
)

// Every parameter of a built-in profile or controller says where it comes from.
func TestSources(t *testing.T) {
	for _, name := range Profiles() {
		p, err := lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range p.params() {
			if source(p.Sources, x.Name) == "" && p.timed() {
				t.Errorf("%s: %s has no source", name, x.Name)
			}
		}
	}
	for _, name := range Controllers() {
		c, err := lookupController(name)
		if err != nil {
			t.Fatal(err)
		}
		params := listed("controller.", c.Controller)
		for _, x := range params {
			if source(c.Sources, x.Name) == "" {
				t.Errorf("%s: %s has no source", name, x.Name)
			}
		}
		if err := (sheet{}).sources(c.Sources, params); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := source(map[string]string{"seek": "a", "seek.read": "b", "see": "c"}, "seek.read.a-ms"); got != "b" {
		t.Errorf("source of seek.read.a-ms is %q, want the longest key that covers it", got)
	}
}

// Mistakes in a profile of one's own are told with their place.
func TestSheetErrors(t *testing.T) {
	good, err := profiles.ReadFile("profiles/sata-7200.yaml")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(good), "\n")
	place := func(start string) int {
		for i, l := range lines {
			if strings.HasPrefix(l, start) {
				return i + 1
			}
		}
		t.Fatalf("no line starts with %q", start)
		return 0
	}
	for _, tt := range []struct {
		name, old, new string
		line, column   int
		want           string
	}{
		{"unknown key", "  rpm: 7200", "  rmp: 7200", place("  rpm: 7200"), 3, `unknown key "rmp": there are capacity, rpm,`},
		{"no unit", "  link: 300MB/s", "  link: 300", place("  link: 300MB/s"), 9, "rate"},
		{"no number", "  heads: 4", "  heads: four", place("  heads: 4"), 10, "heads wants a whole number, not four"},
		{"out of range", "  heads: 4", "  heads: 400", place("  heads: 4"), 3, "disk: heads 400: not between 1 and 64"},
		{"nested", "jitter: 0.1ms", "jitter: 20ms", place("  cylinder-skew: 1"), 3, "disk: cylinder-skew"},
		{"deep", "{depth: 31,", "{depth: 0,", place("  queue: {"), 11, "disk: queue.depth 0"},
		{"source of nothing", "  rpm: WD10EALX data sheet", "  rmp: WD10EALX data sheet", place("  rpm: WD"), 3, `no parameter is called "rmp"`},
		{"bus", "title: SATA disk of 2010", "title: SATA disk of 2010\nbus: ide", place("title") + 1, 1, `bus "ide"`},
		{"twice", "  rpm: 7200", "  rpm: 7200\n  rpm: 7200", place("  rpm: 7200") + 1, 3, "rpm"},
		{"syntax", "  rpm: 7200", "  rpm: [7200", 0, 0, ""},
		{"two documents", "title: SATA", "title: x\n---\ntitle: SATA", 1, 1, "one YAML document"},
	} {
		text := strings.Replace(string(good), tt.old, tt.new, 1)
		_, err := parseProfile("my.yaml", []byte(text))
		var e *FileError
		if !errors.As(err, &e) || e.File != "my.yaml" {
			t.Errorf("%s: %v is no error with a place", tt.name, err)
			continue
		}
		if tt.line != 0 && (e.Line != tt.line || e.Column != tt.column) || !strings.Contains(e.Message, tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %d:%d %s", tt.name, err, tt.line, tt.column, tt.want)
		}
	}
	for _, text := range []string{"", "# nothing\n", "\xff", strings.Repeat("x", 1<<20), "- a\n- b\n", "7", "title: [", "a: &x 1\nb: *x\n"} {
		if _, err := parseProfile("my.yaml", []byte(text)); err == nil {
			t.Errorf("%.20q was taken", text)
		}
	}
	e := &FileError{File: "x.yaml", Line: 3, Column: 4, Source: "\tab c", Message: "m"}
	if d := cmp.Diff("x.yaml:3:4: m\n    3 | \tab c\n      | \t  ^", e.Error()+"\n"+e.Excerpt()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestOwnProfile(t *testing.T) {
	dir := t.TempDir()
	text, err := profiles.ReadFile("profiles/sata-5400.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "my.yaml"), []byte(strings.Replace(string(text), "title: slow SATA disk", "title: my disk", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Spec{Profile: "./my.yaml"}.ReadProfile(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "my.yaml")); err != nil {
		t.Fatal(err)
	}
	if got := s.Describe(); !strings.Contains(got, "./my.yaml (my disk)") {
		t.Errorf("described as %s", got)
	}
	own, std := s.Params(), Spec{Profile: "sata-5400"}.Params()
	if own[0].Name != "profile-sha256" || len(own[0].Text) != 64 || !cmp.Equal(own[1:], std) {
		t.Errorf("parameters %v, want the hash of the file and then those of sata-5400", own)
	}
	for _, tt := range []struct{ name, want string }{
		{"./no.yaml", "no such file"}, {dir, "not a regular file"}, {"./bad.yaml", "./bad.yaml:1:1:"},
	} {
		if err := os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte("tittle: x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := (Spec{Profile: tt.name}).ReadProfile(dir); err == nil || !strings.Contains(err.Error(), tt.want) || fault.Of(err) != fault.Plan {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}
