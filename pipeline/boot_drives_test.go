package pipeline

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/proc"
	"spindle/pipeline/machine/libvirttest"
	"spindle/reports/record"
)

// runs makes the one sample of a plan.
func runs(t *testing.T, text string) (record.Sample, record.Manifest) {
	t.Helper()
	env, _, _ := booting(t)
	env.Cache = filepath.Dir(env.Store.Dir())
	dir := filepath.Join(t.TempDir(), "run")
	if err := Run(t.Context(), env, mustLoad(t, text), dir); err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := run.Samples()
	if err != nil || len(samples) != 1 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	if o := samples[0].Outcome; o.Kind != record.OK {
		t.Fatalf("outcome %+v", o)
	}
	return samples[0], run.Manifest()
}

// onlyBase is the boot plan with its good arm alone, on other drives.
func onlyBase(drives, more string) string {
	text := strings.Replace(bootPlan, "  fast: {profile: raw, bus: virtio-scsi, queue-depth: 1, size: 1GiB}\n", drives, 1)
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "rdinit=") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "") + more
}

func settings(t *testing.T, s record.Sample, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for key := range want {
		got[key] = s.Settings[key]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

// RAID 5 of the guest's own: the file system lies on the array, and what is
// written to it comes to the drives with its parity.
func TestRunMD(t *testing.T) {
	s, _ := runs(t, onlyBase("  j: {profile: raw, bus: virtio-scsi, count: 4, md: {level: 5, chunk: 64KiB}, size: 1GiB, queue-depth: 1}\n", "image: {packages: [mdadm]}\n"))
	settings(t, s, map[string]string{
		"md_level": "raid5", "md_raid_disks": "4", "md_chunk_size": "65536", "md_sync_action": "idle", "md_degraded": "0",
		"member_scheduler": "mq-deadline", "member_queue_depth": "1", "scheduler": "mq-deadline",
	})
	if !strings.HasSuffix(s.Mkfs, " /dev/md0") || !strings.Contains(s.Mount, "/dev/md0") {
		t.Errorf("mkfs %q, mount %q", s.Mkfs, s.Mount)
	}
	if s.Drive.WriteBytes < 16<<20*4/3 {
		t.Errorf("the drives saw %+v, want the parity too", s.Drive)
	}
	if s.Programs["mdadm"] == "" {
		t.Errorf("programs %v", s.Programs)
	}
}

// A disk of the host, empty before and after.
func TestRunHostDisk(t *testing.T) {
	node, file := loopDisk(t)
	s, m := runs(t, onlyBase("  mine: {passthrough: "+node+", destroy: "+file+", bus: virtio-scsi, queue-depth: 4}\n", ""))
	settings(t, s, map[string]string{"queue_depth": "4", "write_cache": "write back", "logical_block_size": "512", "scheduler": "mq-deadline"})
	if d := m.Drives[0]; d.SizeBytes != 128<<20 || !strings.Contains(d.Model, node) {
		t.Errorf("manifest has drive %+v", d)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// dd writes zeros; what the file system wrote of itself stays, but for its
	// signature.
	if used := len(data) - bytes.Count(data, []byte{0}); used < 4<<10 {
		t.Errorf("the guest's file system was not on the disk: %d bytes that are not 0", used)
	}
	out, err := proc.Run(t.Context(), proc.Cmd{Path: "wipefs", Args: []string{"--noheadings", node}})
	if err != nil || len(out.Stdout) > 0 {
		t.Errorf("left on the disk: %s, %v", out.Stdout, err)
	}
}

// The same cell by QEMU itself and through libvirt: the guests cannot tell.
func TestRunLibvirt(t *testing.T) {
	if testing.Short() {
		t.Skip("boots guests: not with -short")
	}
	uri := libvirttest.Daemon(t)
	const sata = "  sata: {profile: raw, bus: ahci, size: 1GiB}\n"
	direct, _ := runs(t, onlyBase(sata, ""))
	machine := "machine: {memory: 384MiB, accel: tcg"
	under, m := runs(t, strings.Replace(onlyBase(sata, ""), machine, machine+", libvirt: \""+uri+"\"", 1))
	for _, s := range []record.Sample{direct, under} {
		// The firmware's tables differ by some KiB, and throttling scales its
		// depths while it works.
		for _, key := range []string{"memory", "wb_normal", "wb_background"} {
			delete(s.Settings, key)
		}
	}
	if diff := cmp.Diff(direct.Settings, under.Settings); diff != "" {
		t.Errorf("settings (-QEMU +libvirt):\n%s", diff)
	}
	if under.Drive.WriteBytes < 16<<20 || under.Drive.Flushes == 0 {
		t.Errorf("the drive saw %+v", under.Drive)
	}
	if !strings.Contains(m.Machine.QEMU, "through libvirt, qemu:///system") {
		t.Errorf("manifest has QEMU %q", m.Machine.QEMU)
	}
	t.Logf("boot %.1f s by QEMU, %.1f s through libvirt", direct.BootSeconds, under.BootSeconds)
}
