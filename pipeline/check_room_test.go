package pipeline

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
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
