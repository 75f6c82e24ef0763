package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/pipeline/drive/passthrough"
)

// loopDisk makes a disk of the host of a file; its identity is the file's path.
func loopDisk(t *testing.T) (node, file string) {
	t.Helper()
	proctest.Need(t, "losetup", "wipefs")
	if os.Geteuid() != 0 {
		t.Skip("needs root, for loop devices")
	}
	file = filepath.Join(t.TempDir(), "disk.img")
	if err := os.WriteFile(file, make([]byte, 128<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := proc.Run(t.Context(), proc.Cmd{Path: "losetup", Args: []string{"--find", "--show", file}})
	if err != nil {
		t.Skipf("this host lets nobody make loop devices: %v", err)
	}
	node = strings.TrimSpace(string(out.Stdout))
	t.Cleanup(func() { proc.Run(context.Background(), proc.Cmd{Path: "losetup", Args: []string{"--detach", node}}) })
	return node, file
}

func planOn(drives string) string {
	return strings.Replace(asks, `  sata: {profile: sata-7200, bus: ahci}
  scsi:
    bus: virtio-scsi
    profile: sata-7200
`, drives, 1)
}

func TestCheckHost(t *testing.T) {
	node, file := loopDisk(t)
	p := load(t, planOn("  mine: {passthrough: "+node+", destroy: "+file+"}\n"))
	disks, err := p.CheckHost(t.Context(), passthrough.ThisHost())
	if err != nil || len(disks) != 1 || disks["mine"].Size != 128<<20 {
		t.Errorf("disks %v, %v", disks, err)
	}
	for want, drive := range map[string]string{
		`7:23: passthrough ` + node + `: destroy: "WD1", but the disk there is "` + file + `"`: "{passthrough: " + node + ", destroy: WD1}",
		`7:23: passthrough /dev/disk/by-id/none: `:                                             "{passthrough: /dev/disk/by-id/none, destroy: WD1}",
	} {
		_, err := load(t, planOn("  mine: "+drive+"\n")).CheckHost(t.Context(), passthrough.ThisHost())
		var ps Problems
		if !errors.As(err, &ps) || fault.Of(err) != fault.Plan || !strings.HasPrefix(ps[0].Error(), "test.yaml:"+want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	small := strings.Replace(p.Text, "96MiB", "200MiB", 1)
	if _, err := load(t, small).CheckHost(t.Context(), passthrough.ThisHost()); err == nil || !strings.Contains(err.Error(), "and drive mine has 128MiB") {
		t.Errorf("a workload that is too large: %v", err)
	}
}
