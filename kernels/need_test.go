package kernels

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// able is a configuration with what every guest takes, and more.
func able(more Config) Config {
	c := Config{}
	for _, s := range []string{
		"BLK_DEV_INITRD", "DEVTMPFS", "TMPFS", "VIRTIO_PCI", "VIRTIO_BLK", "VIRTIO_CONSOLE",
		"SQUASHFS", "SQUASHFS_LZ4", "OVERLAY_FS", "SERIAL_8250_CONSOLE",
	} {
		c["CONFIG_"+s] = "y"
	}
	for s, v := range more {
		c[s] = v
	}
	return c
}

func TestLacks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config Config
		need   Need
		want   []string
	}{
		{"nothing asked", able(nil), Need{}, nil},
		{"not known", nil, Need{Filesystem: "f2fs"}, nil},
		{"not set", able(Config{"CONFIG_F2FS_FS": "n"}), Need{Filesystem: "f2fs"}, []string{"f2fs: CONFIG_F2FS_FS is not set"}},
		{"not there", able(nil), Need{Filesystem: "xfs", Scheduler: "bfq"}, []string{"xfs: CONFIG_XFS_FS is not set", "bfq: CONFIG_IOSCHED_BFQ is not set"}},
		{"modules", able(Config{"CONFIG_SATA_AHCI": "m", "CONFIG_BLK_DEV_SD": "m", "CONFIG_MQ_IOSCHED_KYBER": "m"}), Need{Scheduler: "kyber", Bus: "ahci"}, nil},
		{"AHCI without disks", able(Config{"CONFIG_SATA_AHCI": "y"}), Need{Bus: "ahci"}, []string{"ahci: CONFIG_BLK_DEV_SD is not set"}},
		{"a cloud kernel", able(Config{"CONFIG_BLK_DEV_SD": "m"}), Need{Bus: "megasas"}, []string{"megasas: CONFIG_MEGARAID_SAS is not set"}},
		{"USB without a host", able(Config{"CONFIG_BLK_DEV_SD": "m", "CONFIG_USB_STORAGE": "m"}), Need{Bus: "usb"},
			[]string{"usb: CONFIG_USB_XHCI_HCD is not set", "usb: CONFIG_USB_XHCI_PCI is not set"}},
		{"no parity", able(Config{"CONFIG_BLK_DEV_MD": "y", "CONFIG_MD_RAID1": "y"}), Need{Array: "raid6"}, []string{"raid6: CONFIG_MD_RAID456 is not set"}},
		{"ext3 by ext4", able(Config{"CONFIG_EXT4_FS": "y"}), Need{Filesystem: "ext3"}, nil},
		{"ext2 by ext4", able(Config{"CONFIG_EXT4_FS": "y", "CONFIG_EXT4_USE_FOR_EXT2": "y"}), Need{Filesystem: "ext2"}, nil},
		{"ext2 by itself", able(Config{"CONFIG_EXT2_FS": "m"}), Need{Filesystem: "ext2"}, nil},
		{"ext4 that leaves ext2 alone", able(Config{"CONFIG_EXT4_FS": "y"}), Need{Filesystem: "ext2"},
			[]string{"ext2: none of CONFIG_EXT2_FS, CONFIG_EXT4_USE_FOR_EXT2 is set"}},
		{"no guest", Config{"CONFIG_VIRTIO_PCI": "y"}, Need{Scheduler: "none"}, []string{
			"guest: CONFIG_BLK_DEV_INITRD is not set", "guest: CONFIG_DEVTMPFS is not set", "guest: CONFIG_TMPFS is not set",
			"guest: CONFIG_VIRTIO_BLK is not set", "guest: CONFIG_VIRTIO_CONSOLE is not set", "guest: CONFIG_SQUASHFS is not set",
			"guest: CONFIG_SQUASHFS_LZ4 is not set", "guest: CONFIG_OVERLAY_FS is not set", "guest: CONFIG_SERIAL_8250_CONSOLE is not set",
		}},
	} {
		if d := cmp.Diff(tt.want, Lacks(tt.config, tt.need)); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

func TestModulesFor(t *testing.T) {
	for _, tt := range []struct {
		need Need
		want []string
	}{
		{Need{}, nil},
		{Need{Scheduler: "none"}, nil},
		{Need{Filesystem: "ext4", Scheduler: "mq-deadline", Bus: "ahci"}, []string{"crc64_rocksoft_generic", "ahci", "sd_mod", "crc32c_generic", "crc32c_intel", "ext4", "mq-deadline"}},
		{Need{Bus: "megasas"}, []string{"crc64_rocksoft_generic", "megaraid_sas", "sd_mod"}},
		{Need{Bus: "usb", Array: "raid5"}, []string{"crc64_rocksoft_generic", "xhci-hcd", "xhci-pci", "usb-storage", "sd_mod", "crc32c_generic", "crc32c_intel", "md-mod", "raid456"}},
		{Need{Bus: UAS}, []string{"crc64_rocksoft_generic", "xhci-hcd", "xhci-pci", "uas", "sd_mod"}},
		{Need{Filesystem: "f2fs", Scheduler: "kyber", Bus: "virtio-blk"}, []string{"virtio_blk", "crc32_generic", "crc32_pclmul", "f2fs", "kyber-iosched"}},
		{Need{Filesystem: "reiserfs"}, nil},
	} {
		if d := cmp.Diff(tt.want, ModulesFor(tt.need)); d != "" {
			t.Errorf("%+v: %s", tt.need, d)
		}
	}
	all := map[string]bool{}
	for _, m := range GuestModules() {
		if all[m] {
			t.Errorf("%s is there twice", m)
		}
		all[m] = true
	}
	for _, f := range Filesystems() {
		for _, s := range Schedulers() {
			for _, b := range append(Buses(), UAS) {
				for _, a := range Arrays() {
					for _, m := range ModulesFor(Need{f, s, b, a}) {
						if !all[m] {
							t.Errorf("%s on %s, %s, with %s takes %s, which guests do not get", f, b, a, s, m)
						}
					}
				}
			}
		}
	}
}
