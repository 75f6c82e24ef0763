package passthrough

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"spindle/internal/blockid"
	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/unit"
)

// Host is where the kernel shows its devices; tests bring their own.
type Host struct {
	Sys  string // /sys
	Proc string // /proc
}

// ThisHost is the host that this process runs on.
func ThisHost() Host { return Host{Sys: "/sys", Proc: "/proc"} }

// Disk is a disk of the host.
type Disk struct {
	Spec Spec
	Name string // sdb
	Node string // /dev/sdb

	// ID is what destroy must equal. It is the serial that the disk tells. For
	// a disk that tells none it is, in this order: its world wide name
	// ("naa.5000c500a1b2c3d4"), a device mapper's name ("vg0-scratch"), a loop
	// device's backing file ("/var/tmp/disk.img").
	ID string

	Size          unit.Size
	Rotation      int  // rpm; 1 for a disk that does not rotate, 0 for a rotating one that does not tell
	WriteCache    bool // volatile, write back
	QueueDepth    int  // 0 if it is not told
	LogicalBlock  int  // bytes
	PhysicalBlock int  // bytes

	// File is the disk, opened exclusively for reading and writing without the
	// page cache; nil before Take.
	File *os.File

	host       Host
	major, min uint32
}

// Check looks whether the disk could be taken now. It changes nothing and keeps
// nothing open. An error is the plan's fault.
func Check(ctx context.Context, h Host, s Spec) (*Disk, error) {
	d, err := find(h, s)
	if err == nil {
		err = d.refuse(ctx)
	}
	if err != nil {
		return nil, s.wrap(err)
	}
	return d, nil
}

// Take takes the disk for a guest. The caller gives it back with Release.
func Take(ctx context.Context, h Host, s Spec) (*Disk, error) {
	d, err := find(h, s)
	if err != nil {
		return nil, s.wrap(err)
	}
	// What is in use tells why it cannot be opened.
	if err := d.refuse(ctx); err != nil {
		return nil, s.wrap(err)
	}
	if d.File, err = d.open(); err != nil {
		return nil, s.wrap(err)
	}
	// Now nobody else can begin to use it, and what was seen holds.
	if err := d.refuse(ctx); err != nil {
		d.File.Close()
		return nil, s.wrap(err)
	}
	return d, nil
}

// open opens the disk and makes sure that it is the one that was looked at.
func (d *Disk) open() (*os.File, error) {
	f, err := os.OpenFile(d.Node, os.O_RDWR|os.O_EXCL|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EBUSY) {
		return nil, fmt.Errorf("%w: something uses %s or a partition of it, be it in another mount namespace or as part of a ZFS pool", err, d.Node)
	}
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK ||
		unix.Major(st.Rdev) != d.major || unix.Minor(st.Rdev) != d.min {
		f.Close()
		return nil, fmt.Errorf("%s is no longer the disk that it was a moment ago", d.Node)
	}
	return f, nil
}

// Release takes away the signatures of what was made on the disk since it was
// taken, and gives it back. Nobody else could write to it meanwhile, but for
// those that disregard that it is in use.
func (d *Disk) Release(ctx context.Context) error {
	_, err := proc.Run(ctx, proc.Cmd{Path: "wipefs", Args: []string{"--all", "--force", "--quiet", d.Node}})
	if err != nil {
		err = fmt.Errorf("clear %s: %w", d.Spec.Path, err)
	}
	return errors.Join(err, d.File.Close())
}

func (s Spec) wrap(err error) error {
	if fault.Of(err) != fault.Plan && !errors.As(err, new(*proc.Error)) {
		err = fault.New(fault.Plan, "", err)
	}
	return fmt.Errorf("passthrough %s: %w", s.Path, err)
}

// find looks the disk up.
func find(h Host, s Spec) (*Disk, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	node, err := filepath.EvalSymlinks(s.Path)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Stat(node, &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: node, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return nil, fmt.Errorf("%s is no block device", node)
	}
	d := &Disk{Spec: s, Node: node, host: h, major: unix.Major(st.Rdev), min: unix.Minor(st.Rdev)}
	dir, err := filepath.EvalSymlinks(filepath.Join(h.Sys, "dev/block", fmt.Sprintf("%d:%d", d.major, d.min)))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		return nil, fmt.Errorf("%s is a partition: want the whole disk, %s", node, filepath.Base(filepath.Dir(dir)))
	}
	d.Name = filepath.Base(dir)
	d.ID = d.identity()
	sectors, _ := strconv.ParseInt(d.read("size"), 10, 64) // of 512 bytes, whatever the disk's are
	d.Size = unit.Size(sectors) * 512
	d.WriteCache = d.read("queue/write_cache") == "write back"
	d.QueueDepth = d.number("device/queue_depth")
	d.LogicalBlock, d.PhysicalBlock = d.number("queue/logical_block_size"), d.number("queue/physical_block_size")
	if d.read("queue/rotational") == "0" {
		d.Rotation = 1
	} else {
		d.Rotation = d.rpm()
	}
	return d, nil
}

// dir is the disk's directory in sysfs.
func (d *Disk) dir() string { return filepath.Join(d.host.Sys, "block", d.Name) }

func (d *Disk) read(attribute string) string {
	text, _ := os.ReadFile(filepath.Join(d.dir(), attribute))
	return strings.TrimSpace(string(text))
}

func (d *Disk) number(attribute string) int {
	n, _ := strconv.Atoi(d.read(attribute))
	return n
}

// rpm reads the medium rotation rate in the block device characteristics, VPD
// page 0xb1 (SBC-3, 6.5.2); 0 where that does not tell.
func (d *Disk) rpm() int {
	page, err := os.ReadFile(filepath.Join(d.dir(), "device/vpd_pgb1"))
	if err != nil || len(page) < 6 {
		return 0
	}
	if rate := int(page[4])<<8 | int(page[5]); rate > 0x400 && rate < 0xffff {
		return rate
	}
	return 0
}

func (d *Disk) identity() string {
	if s := blockid.Serial(d.dir()); s != "" {
		return s
	}
	for _, attribute := range []string{"wwid", "device/wwid", "dm/name", "loop/backing_file"} {
		if s := d.read(attribute); s != "" {
			return s
		}
	}
	return ""
}
