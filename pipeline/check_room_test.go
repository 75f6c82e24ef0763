package pipeline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"spindle/internal/fault"
	"spindle/internal/unit"
)

// An array of twelve 2 TB drives is refused just where a file cannot be that
// large.
func TestCheckRoom(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	large := os.Truncate(file, 12*2000398934016)
	if large != nil && !errors.Is(large, unix.EFBIG) {
		t.Fatal(large)
	}
	plan := planOn("  mine: {profile: nlsas-2t, count: 12, raid: \"0\", bus: megasas}\n")
	err := load(t, plan).CheckRoom(dir)
	switch {
	case large == nil && err != nil:
		t.Errorf("it can be that large, and: %v", err)
	case large != nil && (err == nil || !strings.Contains(err.Error(), "drive mine has 24TB") || !strings.Contains(err.Error(), "test.yaml:")):
		t.Errorf("no file can be that large, and: %v", err)
	}
	small := strings.Replace(plan, "bus: megasas", "bus: megasas, size: 8TiB", 1)
	if err := load(t, small).CheckRoom(dir); err != nil {
		t.Error(err)
	}
	if err := load(t, small).CheckRoom(filepath.Join(dir, "not", "there")); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Guests that are larger than the host are refused where their memory is
// written; what is smaller than the host passes, whatever is free.
func TestCheckMemory(t *testing.T) {
	plan := func(machine, arms string) string {
		return strings.Replace(least, "arms: {v: {kernel: k}}", "machine: {"+machine+"}\narms: {"+arms+"}", 1)
	}
	for _, tc := range []struct {
		name, text string
		has        unit.Size
		want       []string // place and message
	}{
		{"smaller", plan("memory: 16GiB", "v: {kernel: k}"), 24 * unit.GiB, nil},
		{"not known", plan("memory: 1TiB", "v: {kernel: k}"), 0, nil},
		{"larger", plan("memory: 1TiB", "v: {kernel: k}, w: {kernel: k}"), 25 * unit.GiB, []string{"5:19: memory 1TiB: this host has 25GiB in all"}},
		{"an arm's", plan("memory: 1GiB", "v: {kernel: k}, w: {kernel: k, memory: 32GiB}"), 25 * unit.GiB, []string{"6:47: memory 32GiB: this host has 25GiB in all"}},
		{"scaled", plan("memory: 1TiB", "v: {kernel: k}") + "scale: 1/4\n", 25 * unit.GiB, []string{"5:19: memory 256GiB (scale 1/4): this host has"}},
		{"scaled enough", plan("memory: 1TiB", "v: {kernel: k}") + "scale: 1/64\n", 25 * unit.GiB, nil},
		{"the default", least, 512 * unit.MiB, []string{"5:8: memory 1GiB: this host has 512MiB in all"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := load(t, tc.text)
			s := &source{file: p.source.file, lines: p.source.lines}
			p.checkMemory(s, tc.has)
			var got []string
			for i, problem := range s.problems {
				text := fmt.Sprintf("%d:%d: %s", problem.Line, problem.Column, problem.Message)
				if i < len(tc.want) && strings.HasPrefix(text, tc.want[i]) {
					text = tc.want[i]
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
	if has := hostMemory(); has < 64*unit.MiB {
		t.Errorf("this host has %s of memory", has)
	}
	err := load(t, plan("memory: 4TiB", "v: {kernel: k}")).CheckRoom(t.TempDir())
	if err == nil && hostMemory() <= 4*unit.TiB || fault.Of(err) != fault.Plan {
		t.Errorf("CheckRoom of 4 TiB: %v", err)
	}
}
