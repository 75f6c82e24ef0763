package machine

import (
	"fmt"
	"math/bits"
	"strconv"

	"spindle/pipeline/drive"
)

const rootSerial = "spindle-root"

// rootDisk is the guest's root image. Many machines may use one file.
type rootDisk struct{ path string }

func (r rootDisk) qemu(*files) []string {
	return []string{
		"-blockdev", options(map[string]any{
			"driver": "raw", "node-name": "root", "read-only": true,
			"file": map[string]any{"driver": "file", "filename": r.path},
		}),
		"-device", "virtio-blk-pci,drive=root,serial=" + rootSerial + onError,
	}
}
func (rootDisk) kernel() []string { return nil }

// onError stops the machine when the host's side of a disk fails. To pass the
// error on would blame the kernel under test for it.
const onError = ",rerror=stop,werror=stop"

// testDisk is a drive behind NBD. n numbers the machine's test drives, port
// those on the board's AHCI.
type testDisk struct {
	Disk
	n, port int
}

// node is the drive's name in QEMU, as I/O errors give it.
func (d testDisk) node() string { return fmt.Sprint("d", d.n) }

func (d testDisk) qemu(f *files) []string {
	return append([]string{"-blockdev", options(d.backend(f))}, d.frontend()...)
}

// kernel undoes what old kernels do to QEMU's SATA disk: up to 6.x libata takes
// it to sit behind a bridge to a parallel port and cuts requests to 128 KiB
// ("applying bridge limits"). Newer ones know better, and two kernels must not
// differ by that.
func (d testDisk) kernel() []string {
	if d.Bus == drive.AHCI {
		return []string{"libata.force=max_sec_lba48"}
	}
	return nil
}

// backend talks to the server. QEMU must not reconnect: a server that went away
// took its timing with it.
func (d testDisk) backend(f *files) map[string]any {
	node := map[string]any{"node-name": d.node(), "discard": "unmap"}
	if f.byHand {
		node["driver"], node["size"], node["read-zeroes"] = "null-co", int64(20<<30), true
		return node
	}
	node["driver"] = "nbd"
	node["server"] = map[string]any{"type": "fd", "str": strconv.Itoa(f.add(d.Client))}
	return node
}

// frontend is what the guest sees. Model and firmware names stay QEMU's: libata
// knows "QEMU HARDDISK" 2.5+ and treats any other as sitting behind a slow
// bridge (max_sectors_kb 128 instead of 1280). One queue each, as a disk on a
// SATA or SAS port has, however many CPUs there are.
func (d testDisk) frontend() []string {
	common := fmt.Sprintf(",drive=%s,serial=%s,write-cache=%s", d.node(), d.Serial, onOff(d.WriteCache)) + onError
	rotation := ""
	if d.Rotation != 0 {
		rotation = fmt.Sprint(",rotation_rate=", d.Rotation)
	}
	switch d.Bus {
	case drive.AHCI:
		return []string{"-device", fmt.Sprintf("ide-hd,bus=ide.%d", d.port) + common + rotation}
	case drive.VirtioSCSI:
		controller := fmt.Sprintf("virtio-scsi-pci,id=scsi%d,num_queues=1", d.n)
		if d.QueueDepth != 0 {
			controller += fmt.Sprint(",cmd_per_lun=", d.QueueDepth)
		}
		return []string{
			"-device", controller,
			"-device", fmt.Sprintf("scsi-hd,bus=scsi%d.0,dpofua=on", d.n) + common + rotation,
		}
	default: // validate has seen to it that it is virtio-blk
		s := "virtio-blk-pci,num-queues=1"
		if d.QueueDepth != 0 {
			// With so short a queue QEMU would also shorten requests, to the
			// queue's length less 2 segments; Linux uses indirect descriptors,
			// for which that limit is not needed.
			s += fmt.Sprintf(",queue-size=%d,seg-max-adjust=off", ringSize(d.QueueDepth))
		}
		return []string{"-device", s + common}
	}
}

// ringSize gives the shortest virtqueue for n requests: a power of two, and
// more than 2 (virtio_blk_device_realize in QEMU's hw/block/virtio-blk.c).
func ringSize(n int) int {
	if n <= 4 {
		return 4
	}
	return 1 << bits.Len(uint(n-1))
}

func mostQueueDepth(b drive.Bus) int {
	switch b {
	case drive.AHCI:
		return 32 // NCQ
	case drive.VirtioSCSI:
		return 256 // the default virtqueue_size, which is Linux's can_queue
	}
	return 1024 // VIRTQUEUE_MAX_SIZE
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}
