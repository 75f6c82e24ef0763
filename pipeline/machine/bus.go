package machine

import (
	"fmt"
	"math/bits"

	"spindle/pipeline/drive"
)

// Every drive but those on AHCI has a controller of its own, so that one's
// depth and limits are not another's, and a slot on the board for it.
const (
	ahciPorts = 6  // of the ICH9 on the q35 board
	pciSlots  = 24 // of the 31 on its bus, what the rest of the machine leaves
)

// DepthSetInGuest says whether QEMU cannot make the bus take only so many
// requests at a time, so that the guest must write the depth to the device's
// queue_depth. An AHCI port always has 32 slots, a MegaRAID controller and UAS
// have what their firmware says. USB's bulk-only transport takes one command,
// and there is nothing to set.
func DepthSetInGuest(b drive.Bus, depth int) bool {
	return b == drive.AHCI || b == drive.MegaSAS || b == drive.USB && depth > 1
}

// CacheSetInGuest says whether QEMU tells the guest of a volatile cache also
// where there is none, so that the guest must be told to do without flushes:
// "write through" in the queue's write_cache.
func CacheSetInGuest(b drive.Bus, writeCache bool) bool { return b == drive.NVMe && !writeCache }

// mostQueueDepth is what the kernel's driver lets through at most.
func mostQueueDepth(b drive.Bus) int {
	switch b {
	case drive.AHCI:
		return 32 // NCQ
	case drive.VirtioSCSI:
		return 256 // the default virtqueue_size, which is Linux's can_queue
	case drive.MegaSAS:
		return 256 // MEGASAS_DEFAULT_CMD_PER_LUN of the driver
	case drive.USB:
		return 14 // of UAS with QEMU's 16 streams; drivers/usb/storage/uas.c keeps 2
	case drive.NVMe:
		return 1023 // the driver's default io_queue_depth, less one
	}
	return 1024 // VIRTQUEUE_MAX_SIZE
}

// frontend is what the guest sees. Model and firmware names stay QEMU's: libata
// knows "QEMU HARDDISK" 2.5+ and treats any other as sitting behind a slow
// bridge (max_sectors_kb 128 instead of 1280). One queue each, as a disk on a
// SATA or SAS port has, however many CPUs there are.
func (d testDisk) frontend() []string {
	disk := fmt.Sprintf(",drive=%s,serial=%s,write-cache=%s", d.node(), d.Serial, onOff(d.WriteCache))
	if d.LogicalBlock != 0 {
		disk += fmt.Sprintf(",logical_block_size=%d,physical_block_size=%d", d.LogicalBlock, max(d.LogicalBlock, d.PhysicalBlock))
	}
	if d.Bus == drive.NVMe {
		// It has no error policy: what fails on the host's side fails in the
		// guest, and the drive's server must be asked first whose fault it was.
		return []string{"-device", fmt.Sprintf("nvme,id=nvme%d,max_ioqpairs=1", d.n) + disk}
	}
	if d.Fails {
		disk += passErrors
	} else {
		disk += onError
	}
	switch d.Bus {
	case drive.AHCI:
		return []string{"-device", fmt.Sprintf("ide-hd,bus=ide.%d", d.port) + disk + d.rotation()}
	case drive.VirtioSCSI:
		controller := fmt.Sprintf("virtio-scsi-pci,id=scsi%d,num_queues=1", d.n)
		if d.QueueDepth != 0 {
			controller += fmt.Sprint(",cmd_per_lun=", d.QueueDepth)
		}
		return []string{"-device", controller, "-device", d.scsi("scsi", ",dpofua=on") + disk + d.rotation()}
	case drive.MegaSAS:
		return []string{
			// The 2108 of a PERC H700; the driver is the same for all of them.
			"-device", fmt.Sprintf("megasas-gen2,id=sas%d", d.n),
			"-device", d.scsi("sas", "") + disk + d.rotation(),
		}
	case drive.USB:
		return d.usb(disk)
	default: // validate has seen to it that it is virtio-blk
		s := "virtio-blk-pci,num-queues=1"
		if d.QueueDepth != 0 {
			// With so short a queue QEMU would also shorten requests, to the
			// queue's length less 2 segments; Linux uses indirect descriptors,
			// for which that limit is not needed.
			s += fmt.Sprintf(",queue-size=%d,seg-max-adjust=off", ringSize(d.QueueDepth))
		}
		return []string{"-device", s + disk}
	}
}

// usb is a disk in a USB enclosure. With one command at a time it speaks the
// bulk-only transport at the high speed of USB 2, as the enclosures do whose
// throttling kernels have trouble with; with more it speaks UAS, at USB 3. The
// speed decides how much Linux asks for at once: 120 KiB, or 1 MiB
// (drivers/usb/storage/scsiglue.c).
func (d testDisk) usb(disk string) []string {
	bridge, ports := "usb-uas", ""
	if d.QueueDepth <= 1 {
		bridge, ports = "usb-bot", ",p3=0" // no port for USB 3
	}
	return []string{
		"-device", fmt.Sprintf("qemu-xhci,id=xhci%d", d.n) + ports,
		"-device", fmt.Sprintf("%s,id=usb%d,bus=xhci%d.0,serial=%s", bridge, d.n, d.n, d.Serial),
		"-device", d.scsi("usb", ",scsi-id=0,lun=0") + disk + d.rotation(),
	}
}

// scsi is a SCSI disk on the controller of that name.
func (d testDisk) scsi(controller, more string) string {
	return fmt.Sprintf("scsi-hd,bus=%s%d.0", controller, d.n) + more
}

func (d testDisk) rotation() string {
	if d.Rotation == 0 {
		return ""
	}
	return fmt.Sprint(",rotation_rate=", d.Rotation)
}

// kernel undoes what old kernels do to QEMU's SATA disk: up to 6.x libata takes
// it to sit behind a bridge to a parallel port and cuts requests to 128 KiB
// ("applying bridge limits"). Newer ones know better, and two kernels must not
// differ by that.
//
// The depth of NVMe is a parameter of the kernel's driver, for all such drives;
// one entry of a queue stays free.
func (d testDisk) kernel() []string {
	switch {
	case d.Bus == drive.AHCI:
		return []string{"libata.force=max_sec_lba48"}
	case d.Bus == drive.NVMe && d.QueueDepth != 0:
		return []string{fmt.Sprint("nvme.io_queue_depth=", d.QueueDepth+1)}
	}
	return nil
}

// ringSize gives the shortest virtqueue for n requests: a power of two, and
// more than 2 (virtio_blk_device_realize in QEMU's hw/block/virtio-blk.c).
func ringSize(n int) int {
	if n <= 4 {
		return 4
	}
	return 1 << bits.Len(uint(n-1))
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}
