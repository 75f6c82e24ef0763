package pipeline

import (
	"os"
	"strings"
	"testing"
)

// readmeBlock gives the indented block of the README that holds a line.
func readmeBlock(t *testing.T, readme, line string) string {
	t.Helper()
	for _, part := range strings.Split(readme, "\n\n") {
		if !strings.HasPrefix(part, "    ") || !strings.Contains("\n"+part+"\n", "\n    "+line+"\n") {
			continue
		}
		return strings.ReplaceAll(strings.TrimPrefix(part, "    "), "\n    ", "\n") + "\n"
	}
	t.Fatalf("README.md has no example with the line %q", line)
	return ""
}

// The plan of the README loads, as it is and with the keys that stand in a
// second example.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	short := readmeBlock(t, string(text), "name: mine")
	load(t, short)
	keys := readmeBlock(t, string(text), "repeat: auto        # until each comparison is decided, within")
	begin, _, ok := strings.Cut(short, "workloads:\n")
	if !ok {
		t.Fatal("the README's plan has no workloads")
	}
	p := load(t, begin+keys)
	for _, key := range []string{"limit", "budget", "image", "debian", "mkfs", "mount", "scale"} {
		if p.root.get(key) == nil {
			t.Errorf("the README shows no %s", key)
		}
	}
	for _, w := range p.Workloads {
		if w.Slug() == "sqlite" && (w.Command == nil || len(w.Command.Metrics) != 2) {
			t.Errorf("the command has metrics %v, want two", w.Command)
		}
	}
}
