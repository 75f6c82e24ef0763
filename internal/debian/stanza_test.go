package debian

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStanzas(t *testing.T) {
	got := parseStanzas("Package: a\nVersion: 1\nDescription: short\n long\n .\n more\n\n\n# a comment\nPackage:b\nX:\r\n y\nno field\n \n continuation of nothing\n")
	want := []stanza{
		{"Package": "a", "Version": "1", "Description": "short\nlong\n.\nmore"},
		{"Package": "b", "X": "\ny"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestInstalled(t *testing.T) {
	got := Installed(`Package: dash
Status: install ok installed
Version: 0.5.12-12
Conffiles:
 /etc/x 0123 obsolete

Package: gone
Status: deinstall ok config-files
Version: 1
`)
	if d := cmp.Diff(map[string]string{"dash": "0.5.12-12"}, got); d != "" {
		t.Error(d)
	}
}

func TestDependencies(t *testing.T) {
	got := dependencies("linux-image-6.12.10+deb13-amd64 (= 6.12.10-1), kmod, initramfs-tools (>= 0.120) | linux-initramfs-tool, python3:any")
	want := []dependency{{"linux-image-6.12.10+deb13-amd64", "6.12.10-1"}, {"kmod", ""}, {"initramfs-tools", ""}, {"python3", ""}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(dependency{})); d != "" {
		t.Error(d)
	}
	if got := dependencies(""); got != nil {
		t.Error(got)
	}
}

func FuzzParseStanzas(f *testing.F) {
	f.Add("Package: a\nDepends: b (= 1), c | d\nStatus: install ok installed\n\n x\n")
	f.Add(" \n:\n#\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range parseStanzas(text) {
			if len(s) == 0 {
				t.Error("an empty stanza")
			}
			for _, d := range dependencies(s["Depends"]) {
				if d.name == "" {
					t.Errorf("a dependency without a name in %q", s["Depends"])
				}
			}
		}
		Installed(text)
	})
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"saturday", "sunday", 3}, {"fio", "fio", 0},
	} {
		if d, r := distance(tt.a, tt.b), distance(tt.b, tt.a); d != tt.want || r != tt.want {
			t.Errorf("distance of %q and %q: %d and %d, want %d", tt.a, tt.b, d, r, tt.want)
		}
	}
}
