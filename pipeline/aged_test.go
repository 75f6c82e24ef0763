package pipeline

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"spindle/images"
	"spindle/kernels"
	"spindle/reports/record"
)

const agedPlan = `name: n
kernels: {old: {deb: linux-image-6.1-amd64}, new: {deb: linux-image-6.12-amd64}}
drives: {d: {profile: raw, bus: virtio-scsi, size: 1GiB}}
arms:
  a: {kernel: old}
  b: {kernel: new, sysctl: {vm.dirty_ratio: 5}, mount: noatime}
  c: {kernel: new, mkfs: {ext4: -O ^has_journal}}
conditions: {filesystem: [ext4], scheduler: [none]}
workloads: [{dd: {size: 1MiB}, aged: {rounds: 2}}]
`

// What an arm is has no part in its aged file system, but for the mkfs options.
func TestAgedKey(t *testing.T) {
	kit := &Kit{Kernels: map[string]kernels.Artifact{"old": {Hash: "1"}, "new": {Hash: "2"}}, Image: images.Image{Hash: "i"}, Guest: "g"}
	key := func(text, arm string) string {
		t.Helper()
		p := load(t, text)
		k, err := kit.agedKey(p, record.Cell{Arm: arm, Condition: p.Grid()[0]})
		if err != nil {
			t.Fatal(err)
		}
		return k.Hash()
	}
	base := key(agedPlan, "a")
	if key(agedPlan, "b") != base {
		t.Error("a sysctl and a kernel of another arm make another file system")
	}
	if key(agedPlan, "c") == base {
		t.Error("other options of mkfs make the same file system")
	}
	for _, edit := range [][2]string{
		{"rounds: 2", "rounds: 3"}, {"size: 1GiB", "size: 2GiB"}, {"name: n", "name: n\nseed: 7"}, {"a: {kernel: old}", "a: {kernel: new}"},
		{"filesystem: [ext4]", "filesystem: [xfs]"}, {"name: n", "name: n\nmachine: {memory: 2GiB}"},
	} {
		if key(strings.Replace(agedPlan, edit[0], edit[1], 1), "a") == base {
			t.Errorf("%s makes no other file system", edit[1])
		}
	}
	if p := load(t, agedPlan); p.agingLimit(p.Grid()[0]) <= 0 || p.Grid()[0].Workload != "dd-aged" {
		t.Error(p.agingLimit(p.Grid()[0]), p.Grid()[0])
	}
}

func TestAgedRefused(t *testing.T) {
	for edit, want := range map[[2]string]string{
		{"filesystem: [ext4]", "filesystem: [none]"}:                                                         "workload dd-aged is on an aged file system, and this one has filesystem: none",
		{"{profile: raw, bus: virtio-scsi, size: 1GiB}", "{passthrough: /dev/disk/by-id/ata-x, destroy: y}"}: "aged: drive d is a disk of the host",
		{"aged: {rounds: 2}", "aged: {rounds: -1}"}:                                                          "aged: age: rounds -1: from 1 to 10000",
	} {
		_, err := Load("p.yaml", []byte(strings.Replace(agedPlan, edit[0], edit[1], 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", edit[1], err)
		}
	}
}

// A copy has the bytes and the holes.
func TestCopyAged(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	f, err := os.Create(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(64 << 20); err != nil {
		t.Fatal(err)
	}
	for at, text := range map[int64]string{0: "begin", 20 << 20: "middle", 64<<20 - 3: "end"} {
		if _, err := f.WriteAt([]byte(text), at); err != nil {
			t.Fatal(err)
		}
	}
	out, err := os.Create(filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := copyData(out, f); err != nil {
		t.Fatal(err)
	}
	if err := copyAged(from, to); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{to, out.Name()} {
		got, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(want, got) {
			t.Errorf("%s: %d bytes of %d are other ones (%v)", name, len(got), len(want), err)
		}
		var st unix.Stat_t
		if err := unix.Stat(name, &st); err != nil || st.Blocks*512 > 8<<20 {
			t.Errorf("%s takes %d bytes (%v)", name, st.Blocks*512, err)
		}
	}
	if err := copyAged(from, to); err == nil {
		t.Error("a copy was put over something")
	}
}
