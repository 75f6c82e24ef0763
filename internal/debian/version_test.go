package debian

import (
	"strings"
	"testing"

	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
)

// ordered are versions in ascending order. Most are from dpkg's own tests and
// from Debian's kernels.
var ordered = []string{
	"0~~", "0~~a", "0~", "0", "0-0a", "0a", "0.0", "1.0~rc1-1", "1.0-1", "1.0-1+b1", "1.0.1",
	"6.1.90-1", "6.1.100-1", "6.12.9-1~bpo12+1", "6.12.9-1~deb12u1", "6.12.9-1", "6.12.9-1.1",
	"6.12.10-1", "6.12.100-1", "6.12.100+1", "6.13~rc6-1~exp1", "6.13-1",
	"999999999999999999999-1", "1:0.1", "2:0",
}

func TestCompare(t *testing.T) {
	for i, a := range ordered {
		for j, b := range ordered {
			want := 0
			switch {
			case i < j:
				want = -1
			case i > j:
				want = 1
			}
			if got := Compare(a, b); got != want {
				t.Errorf("Compare(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
	for _, same := range [][2]string{{"0", ""}, {"1.0", "1.00"}, {"0:1", "1"}, {"1-0", "1"}, {"a-0", "a"}} {
		if c := Compare(same[0], same[1]); c != 0 {
			t.Errorf("Compare(%q, %q) = %d, want 0", same[0], same[1], c)
		}
	}
}

// TestOrderedIsDpkgs has dpkg confirm the order that TestCompare takes for
// granted.
func TestOrderedIsDpkgs(t *testing.T) {
	proctest.Need(t, "dpkg")
	for i := range len(ordered) - 1 {
		_, err := proc.Run(t.Context(), proc.Cmd{Path: "dpkg", Args: []string{"--compare-versions", ordered[i], "lt", ordered[i+1]}})
		if err != nil {
			t.Errorf("dpkg does not have %q < %q: %v", ordered[i], ordered[i+1], err)
		}
	}
}

func FuzzCompare(f *testing.F) {
	for i, v := range ordered {
		f.Add(v, ordered[(i+7)%len(ordered)])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if c, r := Compare(a, b), Compare(b, a); c != -r {
			t.Errorf("Compare(%q, %q) = %d, the other way %d", a, b, c, r)
		}
		if Compare(a, a) != 0 {
			t.Errorf("%q is not equal to itself", a)
		}
		if !strings.ContainsAny(a, ":-") && a != "" && digit(a[len(a)-1]) && Compare(a, a+"~") != 1 {
			t.Errorf("%q is not after itself with a tilde", a)
		}
	})
}
