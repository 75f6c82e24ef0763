package blockdev

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tree writes files and links below a new directory. A value that begins with
// "-> " is a link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(to, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// machine is a guest with an AHCI disk, a virtio-scsi disk, a virtio-blk disk, a
// USB disk, an NVMe drive and a loop device, as sysfs of Linux 6.12 shows them.
func machine(t *testing.T) string {
	const (
		ahci = "sys/devices/pci0000:00/0000:00:1f.2/"
		sda  = ahci + "ata1/host0/target0:0:0/0:0:0:0/"
		vscs = "sys/devices/pci0000:00/0000:00:04.0/"
		sdb  = vscs + "virtio2/host6/target6:0:0/6:0:0:0/"
		vblk = "sys/devices/pci0000:00/0000:00:03.0/"
		vda  = vblk + "virtio1/"
		xhci = "sys/devices/pci0000:00/0000:00:05.0/"
		usb  = xhci + "usb1/1-1/"
		sdc  = usb + "1-1:1.0/host7/target7:0:0/7:0:0:0/"
		nvme = "sys/devices/pci0000:00/0000:00:06.0/"
	)
	return tree(t, map[string]string{
		"dev/sda": "", "dev/sdb": "", "dev/vda": "", "dev/loop0": "", "dev/sdc": "", "dev/nvme0n1": "",

		"sys/block/sda":                                     "-> ../devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda",
		ahci + "driver":                                     "-> ../../../bus/pci/drivers/ahci",
		sda + "driver":                                      "-> ../../../../../../../bus/scsi/drivers/sd",
		sda + "queue_depth":                                 "1\n",
		sda + "vpd_pg80":                                    "\x00\x80\x00\x14          spindle-d0",
		sda + "block/sda/device":                            "-> ../../../0:0:0:0",
		sda + "block/sda/queue/scheduler":                   "none [mq-deadline] kyber bfq\n",
		sda + "block/sda/queue/rotational":                  "1\n",
		sda + "block/sda/queue/write_cache":                 "write back\n",
		sda + "block/sda/queue/fua":                         "0\n",
		sda + "block/sda/queue/nr_requests":                 "64\n",
		sda + "block/sda/queue/max_sectors_kb":              "1280\n",
		sda + "block/sda/queue/read_ahead_kb":               "128\n",
		sda + "block/sda/queue/wbt_lat_usec":                "75000\n",
		"sys/kernel/debug/block/sda/rqos/wbt/enabled":       "1\n",
		"sys/kernel/debug/block/sda/rqos/wbt/wb_normal":     "2\n",
		"sys/kernel/debug/block/sda/rqos/wbt/wb_background": "1\n",

		"sys/block/sdb":                    "-> ../devices/pci0000:00/0000:00:04.0/virtio2/host6/target6:0:0/6:0:0:0/block/sdb",
		vscs + "driver":                    "-> ../../../bus/pci/drivers/virtio-pci",
		vscs + "virtio2/driver":            "-> ../../../../bus/virtio/drivers/virtio_scsi",
		sdb + "driver":                     "-> ../../../../../../../bus/scsi/drivers/sd",
		sdb + "vpd_pg80":                   "\x00\x80\x00\x0aspindle-d1",
		sdb + "block/sdb/device":           "-> ../../../6:0:0:0",
		sdb + "block/sdb/queue/scheduler":  "none\n",
		"sys/kernel/debug/block/sdb/state": "",

		"sys/block/vda":                   "-> ../devices/pci0000:00/0000:00:03.0/virtio1/block/vda",
		vblk + "driver":                   "-> ../../../bus/pci/drivers/virtio-pci",
		vda + "driver":                    "-> ../../../../bus/virtio/drivers/virtio_blk",
		vda + "block/vda/device":          "-> ../../../virtio1",
		vda + "block/vda/serial":          "spindle-root",
		vda + "block/vda/queue/scheduler": "[none] mq-deadline\n",

		// No vpd_pg80: usb-storage has Linux not ask for it.
		"sys/block/sdc":                "-> ../devices/pci0000:00/0000:00:05.0/usb1/1-1/1-1:1.0/host7/target7:0:0/7:0:0:0/block/sdc",
		xhci + "driver":                "-> ../../../bus/pci/drivers/xhci_hcd",
		usb + "bcdDevice":              "0000\n",
		usb + "serial":                 "spindle-d2\n",
		usb + "driver":                 "-> ../../../../../bus/usb/drivers/usb",
		usb + "1-1:1.0/driver":         "-> ../../../../../../bus/usb/drivers/usb-storage",
		sdc + "driver":                 "-> ../../../../../../../../../bus/scsi/drivers/sd",
		sdc + "block/sdc/device":       "-> ../../../7:0:0:0",
		sdc + "queue_depth":            "1\n",
		sdc + "block/sdc/queue/fua":    "0\n",
		"sys/kernel/debug/block/sdc/x": "",

		"sys/block/nvme0n1":                                   "-> ../devices/pci0000:00/0000:00:06.0/nvme/nvme0/nvme0n1",
		nvme + "driver":                                       "-> ../../../bus/pci/drivers/nvme",
		nvme + "nvme/nvme0/serial":                            "spindle-d3          \n",
		nvme + "nvme/nvme0/nvme0n1/device":                    "-> ../../nvme0",
		nvme + "nvme/nvme0/nvme0n1/queue/fua":                 "1\n",
		nvme + "nvme/nvme0/nvme0n1/queue/logical_block_size":  "512\n",
		nvme + "nvme/nvme0/nvme0n1/queue/physical_block_size": "512\n",
		"sys/kernel/debug/block/nvme0n1/hctx0/tags":           "nr_tags=16\nnr_reserved_tags=0\nactive_queues=0\n",

		"sys/block/loop0":                    "-> ../devices/virtual/block/loop0",
		"sys/devices/virtual/block/loop0/ro": "0\n",
	})
}

func TestFind(t *testing.T) {
	root := machine(t)
	sys, dev := filepath.Join(root, "sys"), filepath.Join(root, "dev")
	for serial, want := range map[string]string{"spindle-d0": "sda", "spindle-d1": "sdb", "spindle-d2": "sdc", "spindle-d3": "nvme0n1", "spindle-root": "vda"} {
		d, err := Find(t.Context(), sys, dev, serial)
		if err != nil || d.Name != want || d.Node != filepath.Join(dev, want) {
			t.Errorf("Find(%s) = %+v, %v; want %s", serial, d, err, want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err := Find(ctx, sys, dev, "spindle-d9")
	const want = `find drive with serial spindle-d9: context deadline exceeded; there are nvme0n1 (serial "spindle-d3"), sda (serial "spindle-d0"), sdb (serial "spindle-d1"), sdc (serial "spindle-d2"), vda (serial "spindle-root")`
	if err == nil || err.Error() != want {
		t.Errorf("missing drive:\n got %v\nwant %s", err, want)
	}
	if _, err := Find(t.Context(), sys, dev, ""); err == nil {
		t.Error("an empty serial found a drive")
	}
}

// A drive may come up after its driver was loaded.
func TestFindWaits(t *testing.T) {
	root := tree(t, map[string]string{"dev/vda": ""})
	sys := filepath.Join(root, "sys")
	go func() {
		time.Sleep(20 * time.Millisecond)
		os.MkdirAll(filepath.Join(sys, "block/vda"), 0o755)
		os.WriteFile(filepath.Join(sys, "block/vda/serial"), []byte("late"), 0o644)
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if d, err := Find(ctx, sys, filepath.Join(root, "dev"), "late"); err != nil || d.Name != "vda" {
		t.Errorf("Find = %+v, %v", d, err)
	}
}

func TestDescribe(t *testing.T) {
	root := machine(t)
	for name, want := range map[string]map[string]string{
		"sda": {
			"rotational": "1", "write_cache": "write back", "fua": "0", "queue_depth": "1", "nr_requests": "64",
			"max_sectors_kb": "1280", "read_ahead_kb": "128", "wbt_lat_usec": "75000", "scheduler": "mq-deadline",
			"driver": "sd/ahci", "wbt": "on (default)", "wb_normal": "2", "wb_background": "1",
		},
		"sdb":     {"scheduler": "none", "driver": "sd/virtio_scsi", "wbt": "absent"},
		"sdc":     {"driver": "sd/usb-storage", "queue_depth": "1", "fua": "0", "wbt": "absent"},
		"nvme0n1": {"driver": "nvme", "queue_depth": "16", "fua": "1", "wbt": "absent", "logical_block_size": "512", "physical_block_size": "512"},
		"vda":     {"scheduler": "none", "driver": "virtio_blk", "wbt": "unknown (no debugfs)"},
	} {
		got := Drive{Name: name, Sys: filepath.Join(root, "sys")}.Describe()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSelected(t *testing.T) {
	for text, want := range map[string]string{
		"none mq-deadline [bfq]": "bfq", "[none]": "none", "write back": "write back", "[odd": "[odd", "": "",
	} {
		if got := Selected(text); got != want {
			t.Errorf("Selected(%q) = %q, want %q", text, got, want)
		}
	}
}
