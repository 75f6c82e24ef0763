package machine

import (
	"fmt"
	"path/filepath"
	"strconv"
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

// passErrors lets the guest see what its drive does.
const passErrors = ",rerror=report,werror=report"

// testDisk is a test drive. n numbers the machine's test drives, port those on
// the board's AHCI; aio is how QEMU waits for a disk of the host.
type testDisk struct {
	Disk
	n, port int
	aio     aio
}

// node is the drive's name in QEMU, as I/O errors give it.
func (d testDisk) node() string { return fmt.Sprint("d", d.n) }

func (d testDisk) qemu(f *files) []string {
	var args []string
	node := map[string]any{"node-name": d.node(), "discard": "unmap"}
	switch {
	case f.byHand:
		node["driver"], node["size"], node["read-zeroes"] = "null-co", int64(20<<30), true
	case d.Host != nil:
		// The set makes a descriptor a name that QEMU can open.
		fd := f.add(d.Host)
		args = append(args, "-add-fd", fmt.Sprintf("fd=%d,set=%d", fd, fd))
		node["driver"], node["filename"] = "host_device", fmt.Sprint("/dev/fdset/", fd)
		node["aio"], node["cache"] = string(d.aio), map[string]any{"direct": true, "no-flush": false}
	case f.dir != "":
		node["driver"] = "nbd"
		node["server"] = map[string]any{"type": "unix", "path": filepath.Join(f.dir, d.node())}
	default:
		// QEMU must not reconnect: a server that went away took its timing with
		// it.
		node["driver"] = "nbd"
		node["server"] = map[string]any{"type": "fd", "str": strconv.Itoa(f.add(d.Client))}
	}
	return append(append(args, "-blockdev", options(node)), d.frontend()...)
}
