package pipeline

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spindle/internal/fault"
	"spindle/internal/proc/proctest"
	"spindle/internal/store"
	"spindle/kernels"
	"spindle/reports/record"
)

const brokenPlan = `name: n
kernels:
  base: {path: vmlinuz}
  bad: {git: linux, rev: HEAD, series: bad.patch}
drives: {sata: {profile: sata-7200}}
arms:
  vanilla: {kernel: base}
  patched: {kernel: bad}
conditions: {filesystem: [ext4], scheduler: [none]}
workloads: [dd: {size: 96MiB}]
`

const badPatch = `From: A <a@example.org>
Subject: [PATCH] mm: what nobody has

---
diff --git a/Makefile b/Makefile
--- a/Makefile
+++ b/Makefile
@@ -1,2 +1,2 @@
 not the first line
-old
+new
`

// A series that does not apply is an outcome of its arm, and the end of a run
// whose baseline it is.
func TestBrokenSeries(t *testing.T) {
	proctest.Need(t, "git", "make", "gcc", "flex", "bison", "bc", "ld", "perl", "gzip")
	dir := t.TempDir()
	put := func(name string, text []byte) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// A bzImage that says its version and no more; see the boot protocol.
	image := make([]byte, 8*512)
	image[0x1f1] = 4
	binary.LittleEndian.PutUint16(image[0x1fe:], 0xaa55)
	copy(image[0x202:], "HdrS")
	binary.LittleEndian.PutUint16(image[0x206:], 0x207)
	binary.LittleEndian.PutUint16(image[0x20e:], 0x400-0x200)
	copy(image[0x400:], "6.12.9 (me@here) #1\x00")
	put("vmlinuz", image)
	put("bad.patch", []byte(badPatch))
	put("linux/Makefile", []byte("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\n"))
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "base"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = filepath.Join(dir, "linux")
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@example.org")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	st, err := store.Open(filepath.Join(dir, "cache", "store"))
	if err != nil {
		t.Fatal(err)
	}
	env := Env{Store: st, Cache: filepath.Join(dir, "cache"), Now: time.Now}
	every := func(kernels.Source) bool { return true }
	p, err := Load(filepath.Join(dir, "plan.yaml"), []byte(brokenPlan))
	if err != nil {
		t.Fatal(err)
	}
	k := &Kit{Broken: map[string]error{}}
	if k.Kernels, err = p.makeKernels(t.Context(), env, every, k.Broken); err != nil {
		t.Fatal(err)
	}
	if k.Broken["bad"] == nil || k.Broken["base"] != nil || k.Kernels["base"].Version != "6.12.9" {
		t.Fatalf("%+v", k)
	}
	cell := record.Cell{Arm: "patched", Condition: p.Grid()[0]}
	s, err := carryOut(t.Context(), env, k, p, 1, cell, dir)
	if err != nil {
		t.Fatal(err)
	}
	if s.Outcome.Kind != record.KernelFault || s.Outcome.Reason != "patch" || !strings.Contains(s.Outcome.Detail, `"[PATCH] mm: what nobody has" does not apply`) {
		t.Errorf("outcome %+v", s.Outcome)
	}
	text, err := os.ReadFile(filepath.Join(dir, s.Outcome.Log))
	if err != nil || !strings.Contains(string(text), " not the first line\n-old\n+new") {
		t.Errorf("%v: %s", err, text)
	}

	reversed := strings.NewReplacer("vanilla: {kernel: base}", "vanilla: {kernel: bad}", "patched: {kernel: bad}", "patched: {kernel: base}").Replace(brokenPlan)
	if p, err = Load(filepath.Join(dir, "plan.yaml"), []byte(reversed)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.makeKernels(t.Context(), env, every, map[string]error{}); fault.Of(err) != fault.Kernel {
		t.Errorf("with such a baseline: %v: %v", fault.Of(err), err)
	}
}
