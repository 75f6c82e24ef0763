package machine

import (
	"encoding/json"
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
		"AHCI depth":    {disk(func(d *Disk) { d.QueueDepth = 33 }), fault.Plan, "queue depth 33: ahci takes 1 to 32"},
		"SCSI depth":    {disk(func(d *Disk) { d.Bus, d.QueueDepth = drive.VirtioSCSI, 257 }), fault.Plan, "takes 1 to 256"},
		"virtio-blk":    {disk(func(d *Disk) { d.Bus, d.QueueDepth = drive.VirtioBlk, 1024 }), 0, ""},
		"rotation":      {disk(func(d *Disk) { d.Rotation = 70000 }), fault.Plan, "rotation of 70000 rpm"},
		"seven on six":  {func(c *Config) { c.Drives = many(7) }, fault.Plan, "7 drives on ahci: the board has 6 ports"},
		"six on six":    {func(c *Config) { c.Drives = many(6) }, 0, ""},
		"same serial":   {func(c *Config) { c.Drives = append(many(1), many(1)...) }, fault.Machinery, "another disk"},
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
		disks = append(disks, Disk{Client: os.Stdin, Bus: drive.AHCI, Serial: "d" + string(rune('0'+i))})
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
