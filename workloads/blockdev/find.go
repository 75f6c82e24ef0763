// Package blockdev finds a guest's drives by their serial numbers and tells what
// the kernel made of them: driver, queue attributes, writeback throttling.
//
// Names such as sda are given out in the order of probing and mean nothing from
// one boot to the next; the serial is what the host gave QEMU. Paths are below
// directories that the caller names, so that tests can bring their own.
package blockdev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Drive is one block device of this machine.
type Drive struct {
	Name string // sda
	Sys  string // where sysfs is mounted: /sys
	Node string // /dev/sda
}

// Find waits until a drive with that serial is there and its device node too.
// Probing goes on after a driver was loaded: links come up, disks spin up.
// When ctx ends first, the error names the serials that were there.
func Find(ctx context.Context, sys, dev, serial string) (Drive, error) {
	if serial == "" {
		return Drive{}, errors.New("find drive: no serial given")
	}
	for {
		all := Serials(sys)
		for name, s := range all {
			if s != serial {
				continue
			}
			d := Drive{Name: name, Sys: sys, Node: filepath.Join(dev, name)}
			if _, err := os.Stat(d.Node); err == nil {
				return d, nil
			}
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return Drive{}, fmt.Errorf("find drive with serial %s: %w; there are %s", serial, context.Cause(ctx), list(all))
		}
	}
}

func list(serials map[string]string) string {
	if len(serials) == 0 {
		return "no drives (is the driver of the bus loaded?)"
	}
	var out []string
	for name, s := range serials {
		out = append(out, fmt.Sprintf("%s (serial %q)", name, s))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// Serials gives the serial of every block device that has one, by name.
func Serials(sys string) map[string]string {
	out := make(map[string]string)
	entries, err := os.ReadDir(filepath.Join(sys, "block"))
	if err != nil {
		return out
	}
	for _, e := range entries {
		if s := serial(filepath.Join(sys, "block", e.Name())); s != "" {
			out[e.Name()] = s
		}
	}
	return out
}

// serial reads what virtio-blk, NVMe and SCSI drivers show. SCSI disks, and
// with libata ATA disks too, have it in vital product data page 0x80: four
// bytes of header, the last of them the length, then the text (SPC-4, 7.8.18).
// Of a disk behind USB's bulk-only transport Linux does not ask for that page;
// the USB device has a serial of its own.
func serial(dir string) string {
	for _, name := range [...]string{"serial", "device/serial"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			return strings.TrimSpace(string(data))
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "device/vpd_pg80"))
	if err != nil || len(page) < 4 {
		return usbSerial(filepath.Join(dir, "device"))
	}
	return strings.TrimSpace(strings.Trim(string(page[4:min(len(page), 4+int(page[3]))]), "\x00"))
}

// usbSerial reads the serial of the USB device that a disk is part of: the
// directory above it that says which USB version it speaks.
func usbSerial(device string) string {
	dir, err := filepath.EvalSymlinks(device)
	if err != nil {
		return ""
	}
	for range 6 { // disk, target, host, interface, device
		if _, err := os.Stat(filepath.Join(dir, "bcdDevice")); err == nil {
			data, _ := os.ReadFile(filepath.Join(dir, "serial"))
			return strings.TrimSpace(string(data))
		}
		dir = filepath.Dir(dir)
	}
	return ""
}
