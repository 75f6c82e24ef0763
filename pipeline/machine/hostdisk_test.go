package machine_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/pipeline/drive"
	"spindle/pipeline/drive/passthrough"
	"spindle/pipeline/machine"
)

// A disk of the host is read and written by the guest, as the descriptor that
// keeps everybody else away.
func TestDiskOfHost(t *testing.T) {
	proctest.Need(t, "losetup", "wipefs")
	if os.Geteuid() != 0 {
		t.Skip("needs root, for loop devices")
	}
	file := filepath.Join(t.TempDir(), "disk.img")
	if err := os.WriteFile(file, append([]byte("mine"), make([]byte, 64<<20-4)...), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := proc.Run(t.Context(), proc.Cmd{Path: "losetup", Args: []string{"--find", "--show", file}})
	if err != nil {
		t.Skipf("this host lets nobody make loop devices: %v", err)
	}
	node := strings.TrimSpace(string(out.Stdout))
	t.Cleanup(func() {
		if _, err := proc.Run(context.Background(), proc.Cmd{Path: "losetup", Args: []string{"--detach", node}}); err != nil {
			t.Log(err)
		}
	})
	disk, err := passthrough.Take(t.Context(), passthrough.ThisHost(), passthrough.Spec{Path: node, Destroy: file})
	if err != nil {
		t.Fatal(err)
	}
	var dir string
	m := boot(t, "ready", func(c *machine.Config) {
		dir = c.Dir
		c.Drives = []machine.Disk{{
			Host: disk.File, Bus: drive.AHCI, Serial: "spindle-d0", WriteCache: disk.WriteCache,
			LogicalBlock: disk.LogicalBlock, PhysicalBlock: disk.PhysicalBlock,
		}}
	})
	p := ready(t, m)
	name := p.holds("spindle-d0", "mine")
	if got := p.ask("show /sys/block/" + name + "/size"); got != "131072" {
		t.Errorf("%s sectors, want 64 MiB", got)
	}
	if got := p.ask("sync spindle-d0"); got != "written <nil>" {
		t.Error(got)
	}
	if got, err := p.r.ReadString('\n'); err != nil || strings.TrimSpace(got) != "synced <nil>" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := os.OpenFile(node, os.O_RDONLY|os.O_EXCL, 0); err == nil {
		t.Error("somebody else could take the disk")
	}
	if err := m.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	ends(t, m, machine.Stopped, fault.Machinery, "")
	if err := disk.Release(t.Context()); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(file)
	if err != nil || bytes.HasPrefix(data, []byte("mine")) {
		t.Errorf("the guest's block of zeros did not arrive: %q, %v", data[:4], err)
	}
	log, _ := os.ReadFile(filepath.Join(dir, machine.QEMULog))
	way := regexp.MustCompile(`"aio":"(io_uring|native|threads)"`).FindString(string(log))
	if way == "" || !strings.Contains(string(log), `"direct":true`) {
		t.Errorf("not past the page cache:\n%s", log)
	}
	t.Log(way)
}
