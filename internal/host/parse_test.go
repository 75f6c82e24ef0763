package host

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"
)

func TestParseRelease(t *testing.T) {
	// The escapes are those of os-release(5): what a shell undoes.
	got := parseRelease("# comment\nA=plain\nB=\"two words\"\nC='single $x \\n'\nD=\"q\\\"\\$\\`\\\\ \\n\"\nE=\n" +
		"F=a\\ b\n  G=x  \nno assignment\n=nothing\nH=\"open\nI=a=b\nJ=a\"b\"'c'\r\n")
	want := map[string]string{
		"A": "plain", "B": "two words", "C": `single $x \n`, "D": "q\"$`\\ \\n", "E": "",
		"F": "a b", "G": "x", "H": "open", "I": "a=b", "J": "abc",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestManager(t *testing.T) {
	for text, want := range map[string]Manager{
		"ID=debian": Apt,
		"ID=linuxmint\nID_LIKE=\"ubuntu debian\"":  Apt,
		"ID=rocky\nID_LIKE=\"rhel centos fedora\"": Dnf,
		"ID=manjaro\nID_LIKE=arch":                 Pacman,
		"ID=gentoo":                                "",
		"":                                         "",
	} {
		root := t.TempDir()
		write(t, root, "etc/os-release", text)
		if got := readDistribution(Env{Root: root}).Manager; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := readDistribution(Env{Root: t.TempDir()}); got != (Distribution{Name: "unknown distribution"}) {
		t.Errorf("without os-release: %+v", got)
	}
}

func FuzzParseRelease(f *testing.F) {
	for _, s := range []string{"ID=debian\n", "A=\"b\\", "='", "A='\"'", "\\=\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, value := range parseRelease(s) {
			if name == "" || strings.Contains(name, "=") || strings.Contains(value, "\n") {
				t.Errorf("%q: %q = %q", s, name, value)
			}
		}
	})
}

func TestParseSubids(t *testing.T) {
	got := parseSubids("ann:100000:65536\n1000:200000:10\n\n# no\nbob:x:1\nbob:1:-1\nbob:1:2:3\n:1:2\nbob:4294967296:1\ncid:4294967295:4294967295")
	want := []subids{{"ann", 100000, 65536}, {"1000", 200000, 10}, {"cid", 4294967295, 4294967295}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(subids{})); d != "" {
		t.Error(d)
	}
}

func FuzzParseSubids(f *testing.F) {
	for _, s := range []string{"ann:100000:65536\n", "::", "a:1:99999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range parseSubids(s) {
			if r.owner == "" || r.start < 0 || r.count < 0 || r.start+r.count < 0 {
				t.Errorf("%q: %+v", s, r)
			}
		}
	})
}

func TestNamespaces(t *testing.T) {
	for _, test := range []struct {
		name, subuid, subgid string
		enough               bool
		grant                string
	}{
		{"none", "", "", false, "sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ann"},
		{"others'", "bob:100000:65536\n", "bob:100000:65536\n", false, "sudo usermod --add-subuids 165536-231071 --add-subgids 165536-231071 ann"},
		{"by name", "ann:100000:65536\n", "ann:100000:65536\n", true, ""},
		{"by number", "1000:100000:65536\n", "1000:100000:65536\n", true, ""},
		{"too few", "ann:100000:65535\n", "ann:100000:65536\n", false, "sudo usermod --add-subuids 165536-231071 --add-subgids 165536-231071 ann"},
		{"one sort only", "ann:100000:65536\n", "", false, "sudo usermod --add-subuids 165536-231071 --add-subgids 165536-231071 ann"},
		{"a name that begins so", "anna:100000:65536\n", "anna:100000:65536\n", false, "sudo usermod --add-subuids 165536-231071 --add-subgids 165536-231071 ann"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, "etc/subuid", test.subuid)
			write(t, root, "etc/subgid", test.subgid)
			n := readNamespaces(Env{Root: root, UID: 1000, User: "ann"})
			f := judgeNamespaces(n, "ann")
			if n.enough() != test.enough || f.Do != test.grant {
				t.Errorf("enough %v, do %q; want %v, %q", n.enough(), f.Do, test.enough, test.grant)
			}
		})
	}
}

func TestStolen(t *testing.T) {
	before := procfs.CPUStat{User: 10, Idle: 80, Steal: 10}
	for _, test := range []struct {
		name  string
		after procfs.CPUStat
		want  float64
	}{
		{"nothing since", before, 0},
		{"a quarter", procfs.CPUStat{User: 11, Idle: 81, Iowait: 1, Steal: 11}, 0.25},
		{"guest time counts once", procfs.CPUStat{User: 13, Guest: 3, Idle: 80, Steal: 11}, 0.25},
		{"a counter that went back", procfs.CPUStat{User: 20, Idle: 80, Steal: 9}, 0},
	} {
		if got := stolen(before, test.after); got != test.want {
			t.Errorf("%s: %g, want %g", test.name, got, test.want)
		}
	}
}

func TestWrap(t *testing.T) {
	words := strings.Repeat("word ", 40)
	for line := range strings.Lines(wrap(words, "    ")) {
		if line = strings.TrimSuffix(line, "\n"); len(line) > width || !strings.HasPrefix(line, "    word") {
			t.Errorf("%q", line)
		}
	}
	long := strings.Repeat("x", 100)
	if got, want := wrap("a "+long+" b", "  "), "  a\n  "+long+"\n  b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
