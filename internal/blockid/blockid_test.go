package blockid

import (
	"os"
	"path/filepath"
	"testing"
)

// Directories as sysfs shows them. Pages are as sg_vpd(8) dumps them.
func TestSerial(t *testing.T) {
	const usb = "devices/usb1/1-1/"
	tests := map[string]struct {
		files map[string]string
		link  string // of block/x/device, below the root; "" if it is a directory
		want  string
	}{
		"nothing":       {nil, "", ""},
		"virtio-blk":    {map[string]string{"block/x/serial": "spindle-root"}, "", "spindle-root"},
		"NVMe":          {map[string]string{"block/x/device/serial": "S4EWNX0N        \n"}, "", "S4EWNX0N"},
		"ATA":           {map[string]string{"block/x/device/vpd_pg80": "\x00\x80\x00\x14          WD-WCC4N5PT"}, "", "WD-WCC4N5P"},
		"SCSI":          {map[string]string{"block/x/device/vpd_pg80": "\x00\x80\x00\x04Z1X0"}, "", "Z1X0"},
		"padded page":   {map[string]string{"block/x/device/vpd_pg80": "\x00\x80\x00\x08Z1X0\x00\x00\x00\x00"}, "", "Z1X0"},
		"page cut off":  {map[string]string{"block/x/device/vpd_pg80": "\x00\x80\x00\x40Z1X0"}, "", "Z1X0"},
		"no page":       {map[string]string{"block/x/device/vpd_pg80": "\x00"}, "", ""},
		"USB":           {map[string]string{usb + "bcdDevice": "0100\n", usb + "serial": "0401a2\n", usb + "1-1:1.0/host7/target7:0:0/7:0:0:0/type": "0\n"}, usb + "1-1:1.0/host7/target7:0:0/7:0:0:0", "0401a2"},
		"USB without":   {map[string]string{usb + "bcdDevice": "0100\n", usb + "1-1:1.0/host7/target7:0:0/7:0:0:0/type": "0\n"}, usb + "1-1:1.0/host7/target7:0:0/7:0:0:0", ""},
		"not below USB": {map[string]string{"devices/pci/host7/target7:0:0/7:0:0:0/type": "0\n"}, "devices/pci/host7/target7:0:0/7:0:0:0", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range test.files {
				path := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			dir := filepath.Join(root, "block/x")
			if test.link != "" {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(filepath.Join(root, test.link), filepath.Join(dir, "device")); err != nil {
					t.Fatal(err)
				}
			}
			if got := Serial(dir); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
