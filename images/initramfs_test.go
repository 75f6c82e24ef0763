package images

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/u-root/u-root/pkg/cpio"

	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
)

// TestAppendCpio has cpio(1) read two archives behind each other, as the
// kernel does.
func TestAppendCpio(t *testing.T) {
	proctest.Need(t, "cpio")
	var b bytes.Buffer
	for _, files := range [][]File{
		{{Name: "init", Mode: 0o755, Data: []byte("first")}, {Name: "spindle/b", Data: []byte("12345")}, {Name: "spindle/a", Mode: 0o600}},
		{{Name: "spindle/guest.json", Data: []byte("{}")}, {Name: "spindle/key", Mode: 0o600, Data: []byte("secret\n")}},
	} {
		if err := AppendCpio(&b, files); err != nil {
			t.Fatal(err)
		}
		if b.Len()%512 != 0 {
			t.Errorf("%d bytes", b.Len())
		}
	}
	path := put(t, b.Bytes(), t.TempDir(), "initramfs")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, err := proc.Run(t.Context(), proc.Cmd{Path: "sh", Args: []string{"-c", "export TZ=UTC LC_ALL=C; cpio --quiet -tvn && echo -- && cpio --quiet -tvn"}, Stdin: f})
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(out.Stdout)) {
		fmt.Fprintln(&got, strings.Join(strings.Fields(line), " "))
	}
	want := `-rwxr-xr-x 1 0 0 5 Jan 1 1970 init
drwxr-xr-x 2 0 0 0 Jan 1 1970 spindle
-rw------- 1 0 0 0 Jan 1 1970 spindle/a
-rw-r--r-- 1 0 0 5 Jan 1 1970 spindle/b
--
drwxr-xr-x 2 0 0 0 Jan 1 1970 spindle
-rw-r--r-- 1 0 0 2 Jan 1 1970 spindle/guest.json
-rw------- 1 0 0 7 Jan 1 1970 spindle/key
`
	// How many links a directory has is nobody's business here.
	links := regexp.MustCompile(`(?m)^(d\S+) \d+ `)
	if d := cmp.Diff(links.ReplaceAllString(want, "$1 "), links.ReplaceAllString(got.String(), "$1 ")); d != "" {
		t.Error(d)
	}
	for _, name := range []string{"", "/init", "a/../b", "./a", "a/"} {
		if err := AppendCpio(io.Discard, []File{{Name: name}}); err == nil {
			t.Errorf("name %q: no error", name)
		}
	}
}

// unpacked reads an archive as u-root does.
func unpacked(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]string{}
	err = cpio.ForEachRecord(cpio.Newc.Reader(f), func(r cpio.Record) error {
		if r.MTime != 0 || r.UID != 0 || r.GID != 0 {
			t.Errorf("%+v", r.Info)
		}
		switch r.Mode & cpio.S_IFMT {
		case cpio.S_IFDIR:
			out[r.Name] = "directory"
			return nil
		case cpio.S_IFCHR:
			out[r.Name] = fmt.Sprintf("device %d:%d", r.Rmajor, r.Rminor)
			return nil
		}
		text := make([]byte, r.FileSize)
		if _, err := r.ReadAt(text, 0); err != nil && err != io.EOF {
			return err
		}
		out[r.Name] = string(text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestInitramfs(t *testing.T) {
	proctest.Need(t, "xz", "gzip", "zstd")
	root := t.TempDir()
	for _, m := range []struct{ name, program string }{{"kernel/a.ko", "cat"}, {"kernel/b.ko.xz", "xz"}, {"kernel/c.ko.gz", "gzip"}, {"kernel/d.ko.zst", "zstd"}} {
		out, err := proc.Run(t.Context(), proc.Cmd{Path: m.program, Stdin: strings.NewReader("module " + m.name[7:8])})
		if err != nil {
			t.Fatal(err)
		}
		put(t, out.Stdout, root, m.name)
	}
	env := Env{Store: openStore(t)}
	in := InitramfsSpec{Guest: put(t, []byte("guest"), root, "guest"), Modules: Modules{
		Release: "6.12.9-test", Root: root, Unpack: true,
		Order: []Module{{"a", "kernel/a.ko", nil}, {"b", "kernel/b.ko.xz", []string{"a"}}, {"c", "kernel/c.ko.gz", nil}, {"d", "kernel/d.ko.zst", []string{"a", "b"}}},
	}}
	path, hash, err := Initramfs(t.Context(), env, in)
	if err != nil {
		t.Fatal(err)
	}
	got := unpacked(t, path)
	list := got["spindle/modules.json"]
	delete(got, "spindle/modules.json")
	want := map[string]string{
		"init": "guest", "dev": "directory", "dev/console": "device 5:1", "proc": "directory", "run": "directory", "sys": "directory",
		"spindle": "directory", "spindle/modules": "directory", "spindle/modules/kernel": "directory",
		"spindle/modules/kernel/a.ko": "module a", "spindle/modules/kernel/b.ko": "module b",
		"spindle/modules/kernel/c.ko": "module c", "spindle/modules/kernel/d.ko": "module d",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	var read, wantList any
	if err := json.Unmarshal([]byte(list), &read); err != nil {
		t.Fatal(err)
	}
	json.Unmarshal([]byte(`{"release": "6.12.9-test", "order": [
		{"name": "a", "file": "kernel/a.ko", "deps": []},
		{"name": "b", "file": "kernel/b.ko", "deps": ["a"]},
		{"name": "c", "file": "kernel/c.ko", "deps": []},
		{"name": "d", "file": "kernel/d.ko", "deps": ["a", "b"]}]}`), &wantList)
	if d := cmp.Diff(wantList, read); d != "" {
		t.Error(d)
	}

	if again, sum, err := Initramfs(t.Context(), Env{Store: openStore(t)}, in); err != nil || sum != hash || again == path {
		t.Errorf("made again: %s, %v; want %s", sum, err, hash)
	}
	in.Modules.Unpack = false
	packed, sum, err := Initramfs(t.Context(), env, in)
	if err != nil || sum == hash {
		t.Errorf("left compressed: %s, %v", sum, err)
	}
	if got := unpacked(t, packed)["spindle/modules/kernel/b.ko.xz"]; !strings.HasPrefix(got, "\xfd7zXZ") {
		t.Errorf("left compressed: %q", got)
	}
	in.Modules = Modules{Release: "6.12.9-test"}
	bare, _, err := Initramfs(t.Context(), env, in)
	if err != nil || !strings.Contains(unpacked(t, bare)["spindle/modules.json"], `"order": []`) {
		t.Errorf("without modules: %v", err)
	}
}

func TestInitramfsErrors(t *testing.T) {
	root := t.TempDir()
	guest := put(t, []byte("guest"), root, "guest")
	put(t, []byte("not compressed"), root, "a.ko.xz")
	put(t, []byte("not compressed"), root, "a.ko.lzo")
	put(t, []byte("module"), filepath.Dir(root), "outside.ko")
	for _, m := range []Module{{File: "missing.ko"}, {File: "a.ko.xz"}, {File: "a.ko.lzo"}, {File: "../outside.ko"}} {
		s := openStore(t)
		_, _, err := Initramfs(t.Context(), Env{Store: s}, InitramfsSpec{guest, Modules{Root: root, Order: []Module{m}, Unpack: true}})
		if err == nil || !strings.Contains(err.Error(), m.File) {
			t.Errorf("%s: %v", m.File, err)
		}
		if left, _ := filepath.Glob(filepath.Join(s.Dir(), "initramfs", "*.json")); len(left) > 0 {
			t.Errorf("%s: left behind %v", m.File, left)
		}
	}
	if _, _, err := Initramfs(t.Context(), Env{Store: openStore(t)}, InitramfsSpec{Guest: filepath.Join(root, "none")}); err == nil {
		t.Error("without init: no error")
	}
}
