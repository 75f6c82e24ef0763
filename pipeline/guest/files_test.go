package guest_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spindle/pipeline/guest"

	"github.com/google/go-cmp/cmp"
)

// noise gives bytes of which no part is like another.
func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{7}).Read(b)
	return b
}

func TestFiles(t *testing.T) {
	g, _ := start(t, guest.Options{})
	host, inGuest := t.TempDir(), t.TempDir()
	want := noise(5 << 20) // many packets, and no whole number of them
	want = want[:len(want)-77]
	local := filepath.Join(host, "in")
	if err := os.WriteFile(local, want, 0o750); err != nil {
		t.Fatal(err)
	}
	remote := filepath.Join(inGuest, "file")
	if err := os.WriteFile(remote, []byte("there before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := g.Put(t.Context(), local, remote); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(remote); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("in the guest: %v, %v", info, err)
	}
	back := filepath.Join(host, "out")
	if err := g.Get(t.Context(), remote, back); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(back)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes came back, which are not the %d that went", len(got), len(want))
	}

	if err := g.Write(t.Context(), filepath.Join(inGuest, "job.json"), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"file": "", "job.json": "{}"}, tree(t, inGuest, "file")); diff != "" {
		t.Errorf("in the guest (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"in": "", "out": ""}, tree(t, host, "in", "out")); diff != "" {
		t.Errorf("on the host (-want +got):\n%s", diff)
	}
}

// tree gives the files below a directory and what is in them, but for those
// named.
func tree(t *testing.T, dir string, but ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		for _, b := range but {
			if name == b {
				files[name] = ""
				return nil
			}
		}
		b, err := os.ReadFile(path)
		files[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestFilesFail(t *testing.T) {
	g, _ := start(t, guest.Options{})
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	if err := g.Get(t.Context(), missing, filepath.Join(dir, "out")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("get: got %v, want not exist", err)
	}
	if err := g.Put(t.Context(), missing, filepath.Join(dir, "out")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("put: got %v, want not exist", err)
	}
	if err := g.Write(t.Context(), filepath.Join(missing, "x"), nil); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "in the guest") {
		t.Errorf("write: got %v, want not exist in the guest", err)
	}
	// A directory cannot be replaced by a file: nothing half-made stays.
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := g.Write(t.Context(), taken, []byte("x")); err == nil {
		t.Error("wrote over a directory")
	}
	if diff := cmp.Diff(map[string]string{}, tree(t, dir)); diff != "" {
		t.Errorf("left behind (-want +got):\n%s", diff)
	}
}

func TestGetDir(t *testing.T) {
	g, _ := start(t, guest.Options{})
	inGuest, host := t.TempDir(), filepath.Join(t.TempDir(), "new", "out")
	for name, text := range map[string]string{"stdout": "dd: 1 s\n", "sub/deep/vmstat.jsonl": "{}\n", "empty": ""} {
		path := filepath.Join(inGuest, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(inGuest, "link")); err != nil {
		t.Fatal(err)
	}
	if err := g.GetDir(t.Context(), inGuest, host); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"stdout": "dd: 1 s\n", "sub/deep/vmstat.jsonl": "{}\n", "empty": ""}
	if diff := cmp.Diff(want, tree(t, host)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := g.GetDir(t.Context(), inGuest, host); err != nil {
		t.Errorf("once more: %v", err)
	}
	if err := g.GetDir(t.Context(), filepath.Join(inGuest, "missing"), host); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want not exist", err)
	}
}
