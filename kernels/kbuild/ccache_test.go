package kbuild

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
)

// What a source takes in by .incbin is in the object, also where nothing but
// that has changed; and what has not changed comes from the cache.
func TestIncbin(t *testing.T) {
	proctest.Need(t, "ccache", "gcc")
	dir := t.TempDir()
	b := build{env: Env{Dir: dir}}
	cc, err := b.launcher()
	if err != nil || cc == "" {
		t.Fatal(cc, err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	compile := func(source string) []byte {
		t.Helper()
		_, err := proc.Run(t.Context(), proc.Cmd{Path: cc, Dir: dir, Setenv: b.ccache(),
			Args: []string{"gcc", "-Wp,-MMD,dep.d", "-c", "-o", "out.o", source}})
		if err != nil {
			t.Fatal(err)
		}
		out, err := os.ReadFile(filepath.Join(dir, "out.o"))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	write("piggy.S", ".data\n.incbin \"payload\"\n")
	write("config.c", "asm(\".data\\n.incbin \\\"payload\\\"\\n\");\nint x;\n")
	write("plain.c", "int y;\n")
	for _, text := range []string{"the kernel before", "the kernel after."} {
		write("payload", text)
		for _, source := range []string{"piggy.S", "config.c"} {
			if !bytes.Contains(compile(source), []byte(text)) {
				t.Errorf("%s: the object does not hold %q", source, text)
			}
		}
		compile("plain.c")
	}
	out, err := proc.Run(t.Context(), proc.Cmd{Path: "ccache", Args: []string{"--print-stats"}, Setenv: b.ccache()})
	if err != nil || !bytes.Contains(out.Stdout, []byte("direct_cache_hit\t1\n")) {
		t.Errorf("plain.c did not come from the cache: %v\n%s", err, out.Stdout)
	}
}
