package kernels

import (
	"fmt"
	"slices"
	"strings"
)

// Need is what a plan asks of a kernel, in the plan's words. Empty words ask
// for nothing.
type Need struct {
	Filesystem, Scheduler string
	Bus                   string // one of Buses, or UAS
	Array                 string // one of Arrays
}

// UAS is the bus usb where more than one command is under way.
const UAS = "usb-uas"

// require is one thing that must be configured.
type require struct {
	anyOf  []string // symbols without CONFIG_, of which one must be y or m
	module string   // what to load where the symbol is m; "" if it can only be y
}

func one(symbol, module string) require { return require{[]string{symbol}, module} }

// feature is a word of a plan and what it takes.
type feature struct {
	word     string
	requires []require

	// runtime are modules that the kernel asks for by request_module when it
	// is used. A guest has no modprobe that early, so they are loaded before.
	// Those that a kernel lacks are not needed by it.
	runtime []string
}

// The checksums of ext4, btrfs and f2fs are reached through the crypto API
// until Linux 6.14; see fs/ext4/super.c, fs/btrfs/disk-io.c, fs/f2fs/super.c.
var (
	crc32c = []string{"crc32c_generic", "crc32c_intel"}
	crc32  = []string{"crc32_generic", "crc32_pclmul"}
)

var filesystemTable = []feature{
	// ext4 mounts ext2 where there is no driver of its own, and ext3 since
	// that driver went in 4.3.
	{"ext2", []require{{[]string{"EXT2_FS", "EXT4_USE_FOR_EXT2"}, "ext2"}, {[]string{"EXT2_FS", "EXT4_FS"}, "ext4"}}, crc32c},
	{"ext3", []require{one("EXT4_FS", "ext4")}, crc32c},
	{"ext4", []require{one("EXT4_FS", "ext4")}, crc32c},
	{"xfs", []require{one("XFS_FS", "xfs")}, crc32c},
	{"btrfs", []require{one("BTRFS_FS", "btrfs")}, crc32c},
	{"f2fs", []require{one("F2FS_FS", "f2fs")}, crc32},
}

var schedulerTable = []feature{
	{"none", nil, nil},
	{"mq-deadline", []require{one("MQ_IOSCHED_DEADLINE", "mq-deadline")}, nil},
	{"bfq", []require{one("IOSCHED_BFQ", "bfq")}, nil},
	{"kyber", []require{one("MQ_IOSCHED_KYBER", "kyber-iosched")}, nil},

	// Those of the block layer with one queue, which went after 4.20.
	{"noop", []require{one("IOSCHED_NOOP", "noop-iosched")}, nil},
	{"deadline", []require{one("IOSCHED_DEADLINE", "deadline-iosched")}, nil},
	{"cfq", []require{one("IOSCHED_CFQ", "cfq-iosched")}, nil},
}

// Cmdline gives the kernel parameters that a need takes: SCSI disks have the
// schedulers of one queue only where SCSI does not use blk-mq, which became the
// default in 4.19 (SCSI_MQ_DEFAULT, drivers/scsi/Kconfig).
func Cmdline(n Need) []string {
	if slices.Contains([]string{"noop", "deadline", "cfq"}, n.Scheduler) {
		return []string{"scsi_mod.use_blk_mq=0"}
	}
	return nil
}

// The checksum of T10 protection that sd_mod pulls in asks for an implementation
// of itself while it is loaded; see lib/crc64-rocksoft.c, until Linux 6.14.
var t10 = []string{"crc64_rocksoft_generic"}

var busTable = []feature{
	{"ahci", []require{one("SATA_AHCI", "ahci"), one("BLK_DEV_SD", "sd_mod")}, t10},
	{"virtio-scsi", []require{one("SCSI_VIRTIO", "virtio_scsi"), one("BLK_DEV_SD", "sd_mod")}, t10},
	{"virtio-blk", []require{one("VIRTIO_BLK", "virtio_blk")}, nil},
	{"megasas", []require{one("MEGARAID_SAS", "megaraid_sas"), one("BLK_DEV_SD", "sd_mod")}, t10},
	{"usb", slices.Concat(usbHost, []require{one("USB_STORAGE", "usb-storage"), one("BLK_DEV_SD", "sd_mod")}), t10},
	{"nvme", []require{one("BLK_DEV_NVME", "nvme")}, t10},
}

// The controller of QEMU's USB drives. xhci-pci is a module of its own.
var usbHost = []require{one("USB_XHCI_HCD", "xhci-hcd"), one("USB_XHCI_PCI", "xhci-pci")}

// uas is the other transport of USB.
var uas = feature{UAS, slices.Concat(usbHost, []require{one("USB_UAS", "uas"), one("BLK_DEV_SD", "sd_mod")}), t10}

// RAID 4, 5 and 6 are one driver (drivers/md/raid5.c).
var arrayTable = []feature{
	array("raid0", "MD_RAID0", "raid0"),
	array("raid1", "MD_RAID1", "raid1"),
	array("raid5", "MD_RAID456", "raid456"),
	array("raid6", "MD_RAID456", "raid456"),
	array("raid10", "MD_RAID10", "raid10"),
}

func array(level, symbol, module string) feature {
	return feature{level, []require{one("BLK_DEV_MD", "md-mod"), one(symbol, module)}, crc32c}
}

// boot is what the guest itself takes: the virtio bus, its root on a read-only
// squashfs under an overlay, the port for SSH, a console.
var boot = feature{"guest", []require{
	one("BLK_DEV_INITRD", ""),
	one("DEVTMPFS", ""),
	one("TMPFS", ""),
	one("VIRTIO_PCI", "virtio_pci"),
	one("VIRTIO_BLK", "virtio_blk"),
	one("VIRTIO_CONSOLE", "virtio_console"),
	one("SQUASHFS", "squashfs"),
	one("SQUASHFS_LZ4", ""),
	one("OVERLAY_FS", "overlay"),
	{anyOf: []string{"SERIAL_8250_CONSOLE"}},
}, []string{
	"pvpanic-mmio", // tells QEMU of a panic; the console does so too
}}

// program is what a guest takes whose kernel is a program (um), in virtual time.
var program = feature{"guest", []require{
	one("BLK_DEV_INITRD", ""),
	one("DEVTMPFS", ""),
	one("TMPFS", ""),
	one("UML_TIME_TRAVEL_SUPPORT", ""),
	one("VIRTIO_UML", ""),
	one("VIRTIO_BLK", ""),
	one("SQUASHFS", ""),
	one("SQUASHFS_LZ4", ""),
	one("OVERLAY_FS", ""),
}, nil}

// Filesystems, Schedulers and Buses give the words that a plan may use.
func Filesystems() []string { return words(filesystemTable) }

// Schedulers gives the I/O schedulers of blk-mq, then those before it.
func Schedulers() []string { return words(schedulerTable) }

// Buses gives the ways that a drive is attached.
func Buses() []string { return words(busTable) }

// Arrays gives the levels of md RAID.
func Arrays() []string { return words(arrayTable) }

func words(table []feature) []string {
	var out []string
	for _, f := range table {
		out = append(out, f.word)
	}
	return out
}

// features gives the rows that a need is about. Unknown words are for the plan
// to find.
func (n Need) features() []feature {
	var out []feature
	for _, t := range []struct {
		word  string
		table []feature
	}{{n.Bus, append(busTable[:len(busTable):len(busTable)], uas)}, {n.Array, arrayTable}, {n.Filesystem, filesystemTable}, {n.Scheduler, schedulerTable}} {
		if i := slices.IndexFunc(t.table, func(f feature) bool { return f.word == t.word }); i >= 0 {
			out = append(out, t.table[i])
		}
	}
	return out
}

// ModulesFor gives the names of the modules to load for a need, in no order
// that matters. Some may be built in or absent: see [Artifact.Order].
func ModulesFor(n Need) []string { return modules(n.features()) }

// BootModules gives the names of those that init loads before it can mount the
// root.
func BootModules() []string { return modules([]feature{boot}) }

// GuestModules gives the names of all modules that any plan can need in a
// guest.
func GuestModules() []string {
	return modules(slices.Concat([]feature{boot}, busTable, []feature{uas}, arrayTable, schedulerTable, filesystemTable))
}

func modules(features []feature) []string {
	var out []string
	add := func(names ...string) {
		for _, name := range names {
			if name != "" && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	for _, f := range features {
		add(f.runtime...)
		for _, r := range f.requires {
			add(r.module)
		}
	}
	return out
}

// Lacks says what a configuration misses of a need and of what every guest
// takes, such as "f2fs: CONFIG_F2FS_FS is not set". It is empty if nothing is
// missing, or if the configuration is not known (nil).
func Lacks(c Config, n Need) []string {
	if c == nil {
		return nil
	}
	return lacks(c, boot, n)
}

func lacks(c Config, guest feature, n Need) []string {
	var out []string
	for _, f := range append([]feature{guest}, n.features()...) {
		for _, r := range f.requires {
			if text := r.lacks(c); text != "" {
				out = append(out, f.word+": "+text)
			}
		}
	}
	return out
}

func (r require) lacks(c Config) string {
	var names []string
	for _, s := range r.anyOf {
		if c.Has(s) {
			return ""
		}
		names = append(names, "CONFIG_"+s)
	}
	if len(names) == 1 {
		return names[0] + " is not set"
	}
	return "none of " + strings.Join(names, ", ") + " is set"
}

// Lacks says what the kernel misses of a need: by its configuration, and by
// its modules, since what is configured as one may not be there.
func (a Artifact) Lacks(n Need) ([]string, error) {
	c, err := a.ReadConfig()
	if err != nil || c == nil {
		return nil, err
	}
	guest := boot
	if a.Arch == "um" {
		guest = program
	}
	out := lacks(c, guest, n)
	for _, f := range append([]feature{guest}, n.features()...) {
		for _, r := range f.requires {
			i := slices.IndexFunc(r.anyOf, c.Has)
			if i < 0 || c.Value(r.anyOf[i]) != "m" || r.module == "" {
				continue
			}
			absent := []string{r.module}
			if a.Modules != "" {
				if absent, err = a.Missing(r.module); err != nil {
					return nil, err
				}
			}
			if len(absent) > 0 {
				out = append(out, fmt.Sprintf("%s: CONFIG_%s=m, and its module %s was not given", f.word, r.anyOf[i], r.module))
			}
		}
	}
	return out, nil
}
