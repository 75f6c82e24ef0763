package record

import (
	"io/fs"
	"strings"
	"testing"
)

func TestSlug(t *testing.T) {
	for want, c := range map[string]Cell{
		"sata_ext4_mq-deadline_dd-fsync_wbt": {"wbt", Condition{"sata", "ext4", "mq-deadline", "dd-fsync", ""}},
		"sata__bfq_dd_ext4":                  {"ext4", Condition{"sata", "", "bfq", "dd", ""}},
		"=2e.____=5f=2f":                     {"_/", Condition{Drive: ".."}},
		"=2drf____a=20b":                     {"a b", Condition{Drive: "-rf"}},
		"m=c3=bc____":                        {"", Condition{Drive: "mü"}},
	} {
		if got := c.Slug(); got != want {
			t.Errorf("slug of %+v is %q, want %q", c, got, want)
		}
	}
}

// FuzzSlug holds two cells to the promises: a safe file name, and never the
// same one for different cells.
func FuzzSlug(f *testing.F) {
	f.Add("a_b", "", "", "", "", "a", "b", "", "", "")
	f.Add("a", "b-c", "", "", "", "a-b", "c", "", "", "")
	f.Add(strings.Repeat("x", 300), "", "", "", "", strings.Repeat("x", 299)+"y", "", "", "", "")
	f.Add("..", "/", "~", "=", "\x00", ".", "./", "=7e", "=3d", "_")
	f.Fuzz(func(t *testing.T, d1, f1, s1, w1, a1, d2, f2, s2, w2, a2 string) {
		one, two := Cell{a1, Condition{d1, f1, s1, w1, ""}}, Cell{a2, Condition{d2, f2, s2, w2, ""}}
		if (one == two) != (one.Slug() == two.Slug()) {
			t.Errorf("%+v and %+v have slugs %q and %q", one, two, one.Slug(), two.Slug())
		}
		s := one.Slug()
		if !fs.ValidPath(s) || strings.ContainsAny(s, "/ \\\"'$*?\n") || len(s) > 200 || s[0] == '.' || s[0] == '-' {
			t.Errorf("%+v has slug %q: not a safe file name", one, s)
		}
	})
}
