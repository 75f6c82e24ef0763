package blockdev

import (
	"os"
	"path/filepath"
	"strings"
)

// attributes are what a report says of a drive, below /sys/block/NAME. They
// decide how writeback meets it (Documentation/ABI/stable/sysfs-block).
var attributes = [...]struct{ key, path string }{
	{"rotational", "queue/rotational"},
	{"write_cache", "queue/write_cache"},
	{"fua", "queue/fua"},
	{"queue_depth", "device/queue_depth"},
	{"nr_requests", "queue/nr_requests"},
	{"max_sectors_kb", "queue/max_sectors_kb"},
	{"max_hw_sectors_kb", "queue/max_hw_sectors_kb"},
	{"logical_block_size", "queue/logical_block_size"},
	{"physical_block_size", "queue/physical_block_size"},
	{"read_ahead_kb", "queue/read_ahead_kb"},
	{"wbt_lat_usec", "queue/wbt_lat_usec"},
}

// Describe reads the drive's state as the kernel reports it now: the queue
// attributes, the scheduler, the driver and writeback throttling. What the
// drive does not have is left out. Drives that are no SCSI disks have no
// queue_depth to read; theirs is the number of tags of their queue.
func (d Drive) Describe() map[string]string {
	out := make(map[string]string)
	for _, a := range attributes {
		if v, err := d.Read(a.path); err == nil {
			out[a.key] = v
		}
	}
	if v, err := d.Read("queue/scheduler"); err == nil {
		out["scheduler"] = Selected(v)
	}
	if _, ok := out["queue_depth"]; !ok {
		if n := d.tags(); n != "" {
			out["queue_depth"] = n
		}
	}
	if v := d.Driver(); v != "" {
		out["driver"] = v
	}
	for k, v := range d.throttling() {
		out[k] = v
	}
	return out
}

// Path gives the full path of an attribute.
func (d Drive) Path(attribute string) string {
	return filepath.Join(d.Sys, "block", d.Name, attribute)
}

// Read reads an attribute of the drive, such as queue/nr_requests.
func (d Drive) Read(attribute string) (string, error) {
	data, err := os.ReadFile(d.Path(attribute))
	return strings.TrimSpace(string(data)), err
}

// Selected gives the chosen word of an attribute that lists its choices:
// "bfq" of "none mq-deadline [bfq]". Other text is given back as it is.
func Selected(text string) string {
	if _, rest, ok := strings.Cut(text, "["); ok {
		if word, _, ok := strings.Cut(rest, "]"); ok {
			return word
		}
	}
	return text
}

// Driver names the drivers the requests go through, the disk's first: "sd/ahci",
// "sd/virtio_scsi", "virtio_blk". The transport virtio_pci is left out.
func (d Drive) Driver() string {
	root, err := filepath.EvalSymlinks(filepath.Join(d.Sys, "devices"))
	if err != nil {
		return ""
	}
	dir, err := filepath.EvalSymlinks(d.Path("device"))
	if err != nil {
		return ""
	}
	var names []string
	for strings.HasPrefix(dir, root+"/") && len(names) < 2 {
		if link, err := os.Readlink(filepath.Join(dir, "driver")); err == nil {
			if name := filepath.Base(link); name != "virtio-pci" {
				names = append(names, name)
			}
		}
		dir = filepath.Dir(dir)
	}
	return strings.Join(names, "/")
}

// tags gives how many requests the driver has room for in one hardware queue,
// whatever the scheduler has (blk_mq_debugfs_tags_show in block/blk-mq-debugfs.c).
// It is "" where debugfs does not tell.
func (d Drive) tags() string {
	data, err := os.ReadFile(filepath.Join(d.Sys, "kernel/debug/block", d.Name, "hctx0/tags"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "nr_tags="); ok {
			return n
		}
	}
	return ""
}

// wbtStates are the names of enum in block/blk-wbt.h: whether it is on, and
// whether by the kernel's choice or because somebody wrote wbt_lat_usec.
var wbtStates = map[string]string{
	"1": "on (default)",
	"2": "on (set)",
	"3": "off (default)",
	"4": "off (set)",
}

// throttling reads what writeback throttling really does, from debugfs. The
// queue attribute wbt_lat_usec goes on showing its number where an I/O scheduler
// has switched throttling off, as BFQ does, so it is no proof.
func (d Drive) throttling() map[string]string {
	dir := filepath.Join(d.Sys, "kernel/debug/block", d.Name)
	if _, err := os.Stat(dir); err != nil {
		return map[string]string{"wbt": "unknown (no debugfs)"}
	}
	read := func(name string) (string, bool) {
		data, err := os.ReadFile(filepath.Join(dir, "rqos/wbt", name))
		return strings.TrimSpace(string(data)), err == nil
	}
	state, ok := read("enabled")
	if !ok {
		return map[string]string{"wbt": "absent"}
	}
	out := map[string]string{"wbt": "state " + state}
	if s, ok := wbtStates[state]; ok {
		out["wbt"] = s
	}
	for _, name := range [...]string{"wb_normal", "wb_background"} {
		if v, ok := read(name); ok {
			out[name] = v
		}
	}
	return out
}
