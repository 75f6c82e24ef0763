package mdraid

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArgs(t *testing.T) {
	nodes := []string{"/dev/sdb", "/dev/sda", "/dev/sdc"}
	got := strings.Join(Spec{Level: "5", Chunk: 64 << 10}.Args(nodes), " ")
	for _, want := range []string{"--create /dev/md0 ", " --assume-clean ", " --level=5 --raid-devices=3 --chunk=64 /dev/sdb /dev/sda /dev/sdc"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if got := strings.Join(Spec{Level: "1"}.Args(nodes), " "); strings.Contains(got, "chunk") {
		t.Errorf("RAID 1 has no chunks: %q", got)
	}
}

func TestValidate(t *testing.T) {
	for want, s := range map[string]Spec{
		"":         {Level: "10", Chunk: 4096, Members: []string{"a", "b"}},
		"level":    {Members: []string{"a", "b"}},
		"two":      {Level: "1", Members: []string{"a"}},
		"chunk 1B": {Level: "0", Chunk: 1, Members: []string{"a", "b"}},
	} {
		if err := s.Validate(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}

// sysfs of a RAID 5 of Linux 6.12.
func TestDescribe(t *testing.T) {
	sys := t.TempDir()
	dir := filepath.Join(sys, "block/md0/md")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"level": "raid5\n", "raid_disks": "4\n", "layout": "2\n", "chunk_size": "65536\n", "sync_action": "idle\n",
		"stripe_cache_size": "256\n", "consistency_policy": "resync\n", "bitmap": "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{
		"md_level": "raid5", "md_raid_disks": "4", "md_layout": "2", "md_chunk_size": "65536", "md_sync_action": "idle",
		"md_stripe_cache_size": "256", "md_consistency_policy": "resync",
	}
	if diff := cmp.Diff(want, Describe(sys)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
