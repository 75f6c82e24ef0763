package machine

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"time"

	"spindle/internal/fault"
	"spindle/internal/unit"
	"spindle/pipeline/drive"
)

const (
	// DefaultQEMU is the program looked up where a Config names none.
	DefaultQEMU = "qemu-system-x86_64"
	// DefaultBootLimit is long: a Debian kernel is ready after 3 s on an idle
	// host without KVM, and a loaded host must not make a kernel look hung.
	DefaultBootLimit = 2 * time.Minute

	leastMemory = 64 * unit.Size(1<<20)
	mostCmdline = 2047 // COMMAND_LINE_SIZE of x86 is 2048 with the final NUL
)

// Accel is what runs the guest's instructions.
type Accel string

// TCG translates in software and works everywhere; KVM needs the host's CPU.
// The zero value means TCG to [Start], and "find out" to [ProbeAccel].
const (
	KVM Accel = "kvm"
	TCG Accel = "tcg"
)

// Config says what machine to boot. Kernel and Dir are required.
type Config struct {
	QEMU   string   // name or path; "" is DefaultQEMU
	Kernel string   // PVH ELF (vmlinux) or bzImage
	Initrd string   // "" for none
	Root   string   // image for the read-only disk with serial "spindle-root"; "" for none
	Append []string // added to the kernel command line, after what the devices say

	Memory unit.Size // whole MiB
	CPUs   int       // 0 means 1
	Accel  Accel

	Drives []Disk

	// Libvirt is the URI of a libvirt daemon that runs QEMU for us, such as
	// qemu:///system; "" starts it as our own child.
	Libvirt string
	// Sockets is a directory that only we can enter, for a QEMU that is not our
	// child. It must have a short path: a socket's has at most 107 bytes.
	Sockets string

	// Dir is an existing directory that gets console.log and qemu.log.
	Dir string
	// Console, if set, gets a copy of the console. Where it is too slow, parts
	// are left out with a note.
	Console io.Writer
	// BootLimit is how long the guest may take until it says "spindle: ready".
	// If the console still grows at that time it gets as long once more. 0
	// means DefaultBootLimit.
	BootLimit time.Duration
}

// Disk is a test drive: one of Serve, Client and Host is what is behind it.
type Disk struct {
	// Serve serves QEMU's connection over NBD, from a goroutine of its own, and
	// closes it. It is called once, unless Start fails.
	Serve func(net.Conn)
	// Client is QEMU's end of a connection to an NBD server. Start closes it
	// in any case, so that the server sees QEMU go. libvirt cannot pass it on.
	Client *os.File
	// Host is a block device of the host, open for reading and writing. QEMU
	// gets a copy of the descriptor; the caller closes its own after Done.
	Host *os.File
	// LogicalBlock and PhysicalBlock are what the guest is told, in bytes; 0 is
	// 512. A Host disk's must be its own, or QEMU could not write past the
	// host's page cache.
	LogicalBlock, PhysicalBlock int

	Bus drive.Bus
	// Fails says that the drive is to fail requests. The guest sees the errors
	// then; else one stops the machine, as a fault of the host's.
	Fails bool
	// Serial is how the guest finds the drive: letters, digits, '-', '_' and
	// '.', at most 20, which is what ATA and virtio have room for.
	Serial string
	// Rotation is the speed in rpm, 1 for a device that does not rotate, 0 for
	// none told. virtio-blk and USB cannot tell it (Linux does not ask a USB
	// disk); Linux takes such a disk as rotating, and NVMe never.
	Rotation int
	// WriteCache tells the guest of a volatile cache, so that it flushes.
	// Without it QEMU makes every write durable before it completes.
	WriteCache bool
	// QueueDepth is how many requests the guest may have under way, 0 for the
	// bus's default. virtio-scsi and NVMe give exactly this many, and all NVMe
	// drives of a machine the same. virtio-blk gives the next power of two from
	// 4 up (a queue of less carries no data). The others have what they have,
	// and the guest sets its queue_depth itself: see [DepthSetInGuest]. USB
	// speaks UAS for more than 1.
	QueueDepth int
}

var serialForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,20}$`)

func (c *Config) fill() {
	if c.QEMU == "" {
		c.QEMU = DefaultQEMU
	}
	if c.CPUs == 0 {
		c.CPUs = 1
	}
	if c.Accel == "" {
		c.Accel = TCG
	}
	if c.BootLimit == 0 {
		c.BootLimit = DefaultBootLimit
	}
}

// validate finds what no machine can be made of. What a plan says is the
// plan's fault.
func (c *Config) validate() error {
	switch {
	case c.Kernel == "":
		return errors.New("no kernel given")
	case c.Dir == "":
		return errors.New("no directory for the console log given")
	case c.Memory < leastMemory || c.Memory%(1<<20) != 0:
		return fault.Planf("memory %v: want whole MiB, at least %v", c.Memory, leastMemory)
	case c.CPUs < 1 || c.CPUs > 255:
		return fault.Planf("%d CPUs: want 1 to 255", c.CPUs)
	case c.Accel != KVM && c.Accel != TCG:
		return fault.Planf("accelerator %q: want %q or %q", c.Accel, KVM, TCG)
	}
	if c.Libvirt != "" {
		if err := c.validateLibvirt(); err != nil {
			return err
		}
	}
	for _, a := range c.Append {
		if strings.ContainsAny(a, "\n\x00") {
			return fault.Planf("kernel argument %q: has a line break", a)
		}
	}
	serials := map[string]bool{rootSerial: true}
	ports, slots, nvme := 0, 0, -1
	for _, d := range c.Drives {
		if err := d.validate(); err != nil {
			return err
		}
		if serials[d.Serial] {
			return fmt.Errorf("drive %s: another disk has that serial", d.Serial)
		}
		serials[d.Serial] = true
		if d.Bus == drive.AHCI {
			ports++
		} else {
			slots++
		}
		if d.Bus == drive.NVMe {
			if nvme >= 0 && nvme != d.QueueDepth {
				return fault.Planf("drive %s: queue depth %d: another drive on nvme has %d, and the kernel has one depth for all", d.Serial, d.QueueDepth, nvme)
			}
			nvme = d.QueueDepth
		}
	}
	switch {
	case ports > ahciPorts:
		return fault.Planf("%d drives on ahci: the board has %d ports", ports, ahciPorts)
	case slots > pciSlots:
		return fault.Planf("%d drives with a controller each: the board has room for %d", slots, pciSlots)
	}
	return nil
}

// validateLibvirt finds what a QEMU that is not our child cannot have.
func (c *Config) validateLibvirt() error {
	if err := ValidLibvirt(c.Libvirt); err != nil {
		return err
	}
	if c.Sockets == "" {
		return errors.New("no directory for sockets given")
	}
	for _, d := range c.Drives {
		switch {
		case d.Host != nil:
			return fault.Planf("drive %s: a disk of the host is passed on by its descriptor, which libvirt cannot do: leave libvirt out of the plan's machine", d.Serial)
		case d.Serve == nil:
			return fmt.Errorf("drive %s: libvirt cannot pass on a descriptor", d.Serial)
		}
	}
	return nil
}

func (d Disk) validate() error {
	switch {
	case !serialForm.MatchString(d.Serial):
		return fmt.Errorf("drive serial %q: want 1 to 20 of A-Z a-z 0-9 . _ -", d.Serial)
	case d.Client == nil && d.Host == nil && d.Serve == nil:
		return fmt.Errorf("drive %s: no connection to its server given", d.Serial)
	case (d.Client != nil || d.Serve != nil) && d.Host != nil:
		return fmt.Errorf("drive %s: both a server and a disk of the host given", d.Serial)
	case d.Rotation < 0 || d.Rotation > 0xfffe:
		return fault.Planf("drive %s: rotation of %d rpm: want 0 to 65534", d.Serial, d.Rotation)
	case d.QueueDepth < 0 || d.QueueDepth > mostQueueDepth(d.Bus):
		return fault.Planf("drive %s: queue depth %d: %s takes 1 to %d", d.Serial, d.QueueDepth, d.Bus, mostQueueDepth(d.Bus))
	}
	switch d.Bus {
	case drive.AHCI, drive.VirtioSCSI, drive.VirtioBlk, drive.MegaSAS, drive.USB, drive.NVMe:
		return nil
	}
	return fault.Planf("drive %s: unknown bus %q", d.Serial, d.Bus)
}
