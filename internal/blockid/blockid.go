// Package blockid reads which drive a block device is from sysfs: the serial
// number that its maker, or QEMU, gave it. Names such as sda are given out in
// the order of probing and mean nothing from one boot to the next.
//
// It promises the same serial for the same drive on every bus that Linux shows
// one of: SATA, SCSI, USB, NVMe, virtio-blk. It does not ask the drive itself,
// needs no udev, and knows no serial for a device that Linux shows none of.
package blockid

import (
	"os"
	"path/filepath"
	"strings"
)

// Serial gives the serial of the block device whose directory in sysfs is dir
// (/sys/block/sda), or "".
//
// virtio-blk, NVMe and MMC drivers show it as a file. SCSI disks, and with
// libata ATA disks too, have it in vital product data page 0x80: four bytes of
// header, the last of them the length, then the text (SPC-4, 7.8.18). Of a disk
// behind USB's bulk-only transport Linux does not ask for that page; the USB
// device has a serial of its own.
func Serial(dir string) string {
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
// directory above it that tells the device's release.
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
