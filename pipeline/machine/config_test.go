package machine

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"spindle/internal/fault"
	"spindle/pipeline/drive"

	"github.com/google/go-cmp/cmp"
)

func TestValidate(t *testing.T) {
	disk := func(change func(*Disk)) func(*Config) {
		return func(c *Config) { change(&c.Drives[0]) }
	}
	tests := map[string]struct {
		change func(*Config)
		kind   fault.Kind
		want   string // "" is no error
	}{
		"good":          {func(c *Config) {}, 0, ""},
		"no kernel":     {func(c *Config) { c.Kernel = "" }, fault.Machinery, "no kernel"},
		"no directory":  {func(c *Config) { c.Dir = "" }, fault.Machinery, "no directory"},
		"little memory": {func(c *Config) { c.Memory = 32 << 20 }, fault.Plan, "memory 32MiB: want whole MiB, at least 64MiB"},
		"broken memory": {func(c *Config) { c.Memory = 100<<20 + 1 }, fault.Plan, "whole MiB"},
		"many CPUs":     {func(c *Config) { c.CPUs = 256 }, fault.Plan, "256 CPUs"},
		"accelerator":   {func(c *Config) { c.Accel = "hvf" }, fault.Plan, `accelerator "hvf"`},
		"line break":    {func(c *Config) { c.Append = []string{"a\nb"} }, fault.Plan, "line break"},
		"bus":           {disk(func(d *Disk) { d.Bus = "ide" }), fault.Plan, `unknown bus "ide"`},
		"serial":        {disk(func(d *Disk) { d.Serial = "a,readonly=on" }), fault.Machinery, "drive serial"},
		"long serial":   {disk(func(d *Disk) { d.Serial = strings.Repeat("x", 21) }), fault.Machinery, "drive serial"},
		"root's serial": {disk(func(d *Disk) { d.Serial = "spindle-root" }), fault.Machinery, "another disk"},
		"no server":     {disk(func(d *Disk) { d.Client = nil }), fault.Machinery, "no connection"},
		"two behind":    {disk(func(d *Disk) { d.Host = os.Stdin }), fault.Machinery, "both a server and a disk"},
		"SAS depth":     {disk(func(d *Disk) { d.Bus, d.QueueDepth = drive.MegaSAS, 257 }), fault.Plan, "megasas takes 1 to 256"},
		"UAS depth":     {disk(func(d *Disk) { d.Bus, d.QueueDepth = drive.USB, 15 }), fault.Plan, "usb takes 1 to 14"},
		"NVMe depths": {func(c *Config) {
			c.Drives = many(3)
			c.Drives[0].Bus, c.Drives[2].Bus, c.Drives[2].QueueDepth = drive.NVMe, drive.NVMe, 8
		}, fault.Plan, "drive d2: queue depth 8: another drive on nvme has 0"},
		"many controllers": {func(c *Config) {
			c.Drives = many(25)
			for i := range c.Drives {
				c.Drives[i].Bus = drive.MegaSAS
			}
		}, fault.Plan, "the board has room for 24"},
		"AHCI depth":   {disk(func(d *Disk) { d.QueueDepth = 33 }), fault.Plan, "queue depth 33: ahci takes 1 to 32"},
		"SCSI depth":   {disk(func(d *Disk) { d.Bus, d.QueueDepth = drive.VirtioSCSI, 257 }), fault.Plan, "takes 1 to 256"},
		"virtio-blk":   {disk(func(d *Disk) { d.Bus, d.QueueDepth = drive.VirtioBlk, 1024 }), 0, ""},
		"rotation":     {disk(func(d *Disk) { d.Rotation = 70000 }), fault.Plan, "rotation of 70000 rpm"},
		"seven on six": {func(c *Config) { c.Drives = many(7) }, fault.Plan, "7 drives on ahci: the board has 6 ports"},
		"six on six":   {func(c *Config) { c.Drives = many(6) }, 0, ""},
		"same serial":  {func(c *Config) { c.Drives = append(many(1), many(1)...) }, fault.Machinery, "another disk"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := Config{Kernel: "vmlinux", Dir: "/tmp", Memory: 256 << 20, Drives: many(1)}
			test.change(&c)
			c.fill()
			err := c.validate()
			if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || fault.Of(err) != test.kind) {
				t.Errorf("got %v (%v), want %v with %q", err, fault.Of(err), test.kind, test.want)
			}
		})
	}
}

func many(n int) (disks []Disk) {
	for i := range n {
		disks = append(disks, Disk{Client: os.Stdin, Bus: drive.AHCI, Serial: fmt.Sprint("d", i)})
	}
	return disks
}

func TestCommand(t *testing.T) {
	m := &Machine{cfg: Config{Kernel: "vmlinux", Root: "/a,b/root", Append: []string{"quiet"}, Drives: many(2)}}
	m.cfg.fill()
	devices := m.devices([3]*os.File{})

	var given files
	args, cmdline := command(devices, m.cfg.Append, &given)
	// What two disks ask for stands there once.
	if !strings.HasSuffix(cmdline, " panic=-1 console=ttyS0 sysrq_always_enabled libata.force=max_sec_lba48 quiet") {
		t.Errorf("kernel command line %q", cmdline)
	}
	// Only an emulated CPU is spared its mitigations.
	if !strings.HasPrefix(cmdline, "mitigations=off ") || len(board{accel: KVM}.kernel()) > 0 {
		t.Errorf("kernel command line %q; with KVM %q", cmdline, board{accel: KVM}.kernel())
	}
	// Each drive on the AHCI port of its own, with the descriptor it was given.
	var nodes []string
	for i, a := range args {
		if a != "-blockdev" {
			continue
		}
		var node struct {
			Driver string
			Server struct{ Str string }
			File   struct{ Filename string }
		}
		if err := json.Unmarshal([]byte(args[i+1]), &node); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, node.Driver+" "+node.Server.Str+node.File.Filename)
	}
	if diff := cmp.Diff([]string{"raw /a,b/root", "nbd 6", "nbd 7"}, nodes); diff != "" {
		t.Errorf("disks (-want +got):\n%s", diff)
	}
	if len(given.list) != 5 { // console, QMP, SSH, two drives
		t.Errorf("%d descriptors", len(given.list))
	}
	for _, want := range []string{"bus=ide.0,", "bus=ide.1,"} {
		if !slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, want) }) {
			t.Errorf("no %s in %q", want, args)
		}
	}

	// Whoever boots by hand has nothing to inherit.
	hand := files{byHand: true}
	args, same := command(devices, m.cfg.Append, &hand)
	if same != cmdline || len(hand.list) != 0 || strings.Contains(strings.Join(args, " "), "fd") {
		t.Errorf("by hand: %q", args)
	}
}

func TestRingSize(t *testing.T) {
	for depth, want := range map[int]int{1: 4, 3: 4, 4: 4, 5: 8, 8: 8, 9: 16, 128: 128, 1000: 1024, 1024: 1024} {
		if got := ringSize(depth); got != want {
			t.Errorf("for depth %d: %d, want %d", depth, got, want)
		}
	}
}

// A disk of the host is handed over as a descriptor, past the page cache, and
// told with its own block sizes.
func TestHostDisk(t *testing.T) {
	d := testDisk{Disk: Disk{Host: os.Stdin, Bus: drive.MegaSAS, Serial: "mine", LogicalBlock: 512, PhysicalBlock: 4096}, n: 0, aio: ioURing}
	var given files
	args := d.qemu(&given)
	want := []string{
		"-add-fd", "fd=3,set=3",
		"-blockdev", `{"aio":"io_uring","cache":{"direct":true,"no-flush":false},"discard":"unmap","driver":"host_device","filename":"/dev/fdset/3","node-name":"d0"}`,
		"-device", "megasas-gen2,id=sas0",
		"-device", "scsi-hd,bus=sas0.0,drive=d0,serial=mine,write-cache=off,logical_block_size=512,physical_block_size=4096,rerror=stop,werror=stop",
	}
	if diff := cmp.Diff(want, args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if hand := d.qemu(&files{byHand: true}); strings.Contains(strings.Join(hand, " "), "fd") {
		t.Errorf("by hand: %q", hand)
	}
}

// USB is one command at a time at the speed of USB 2, or UAS.
func TestUSB(t *testing.T) {
	for depth, want := range map[int][]string{
		1: {"qemu-xhci,id=xhci2,p3=0", "usb-bot,id=usb2,bus=xhci2.0,serial=s"},
		8: {"qemu-xhci,id=xhci2", "usb-uas,id=usb2,bus=xhci2.0,serial=s"},
	} {
		args := testDisk{Disk: Disk{Bus: drive.USB, Serial: "s", QueueDepth: depth}, n: 2}.frontend()
		if len(args) != 6 || args[1] != want[0] || args[3] != want[1] || !strings.HasPrefix(args[5], "scsi-hd,bus=usb2.0,scsi-id=0,lun=0,drive=d2,") {
			t.Errorf("depth %d: %q", depth, args)
		}
	}
}

func TestNVMeDepth(t *testing.T) {
	d := testDisk{Disk: Disk{Bus: drive.NVMe, QueueDepth: 1}}
	if got := d.kernel(); len(got) != 1 || got[0] != "nvme.io_queue_depth=2" {
		t.Errorf("%q: a queue of two entries holds one command", got)
	}
}

// Errors that the plan asks for reach the guest; all others stop the machine.
func TestPlannedErrors(t *testing.T) {
	for _, bus := range []drive.Bus{drive.AHCI, drive.VirtioSCSI, drive.VirtioBlk, drive.MegaSAS, drive.USB} {
		for fails, want := range map[bool]string{false: "rerror=stop,werror=stop", true: "rerror=report,werror=report"} {
			args := strings.Join(testDisk{Disk: Disk{Bus: bus, Serial: "x", QueueDepth: 1, Fails: fails}}.frontend(), " ")
			if strings.Count(args, "rerror=") != 1 || !strings.Contains(args, want) {
				t.Errorf("%s, fails %v: %s", bus, fails, args)
			}
		}
	}
}
