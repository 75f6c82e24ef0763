package pipeline

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"spindle/internal/unit"
	"spindle/kernels"
)

// valued is a setting whose values are known to be whole numbers. What the
// kernel refuses, or takes for something else, would end the arm's samples and
// look like a fault of its kernel; a slip is the plan's.
type valued struct {
	name        string
	of          string // what the number counts, for messages
	least, most int64
	// What one of it is, where it is a size or a time: what a person writes with
	// a unit is worked out for the message.
	size unit.Size
	time time.Duration
}

// unbounded is where only the width of the kernel's variable is a limit.
const unbounded = math.MaxInt64

// sysctlValues are the bounds in kernel/sysctl.c (extra1 and extra2), those of
// writeback in mm/page-writeback.c since 6.0, of vm.dirtytime_expire_seconds in
// fs/fs-writeback.c, with what they mean in Documentation/admin-guide/sysctl/vm.rst.
// Where versions differ the widest bounds of any stand here. Sysctls that are not
// in the table are not looked at.
var sysctlValues = []valued{
	{name: "vm.dirty_background_bytes", of: "bytes", least: 1, most: unbounded, size: unit.B},
	{name: "vm.dirty_background_ratio", of: "percent", most: 100},
	{name: "vm.dirty_bytes", of: "bytes", least: 2 * 4096, most: unbounded, size: unit.B}, // dirty_bytes_min, of x86's pages
	{name: "vm.dirty_expire_centisecs", of: "centiseconds", most: math.MaxInt32, time: 10 * time.Millisecond},
	{name: "vm.dirty_ratio", of: "percent", most: 100},
	{name: "vm.dirty_writeback_centisecs", of: "centiseconds", most: math.MaxInt32, time: 10 * time.Millisecond}, // proc_dointvec
	{name: "vm.dirtytime_expire_seconds", of: "seconds", most: math.MaxInt32, time: time.Second},
	{name: "vm.highmem_is_dirtyable", most: 1},
	{name: "vm.min_free_kbytes", of: "KiB", most: math.MaxInt32, size: unit.KiB},
	{name: "vm.overcommit_memory", most: 2},
	{name: "vm.overcommit_ratio", of: "percent", most: math.MaxInt32},
	{name: "vm.page-cluster", most: math.MaxInt32},
	{name: "vm.swappiness", most: 200}, // 100 before 5.8
	{name: "vm.vfs_cache_pressure", most: math.MaxInt32},
	{name: "vm.watermark_boost_factor", most: math.MaxInt32},
	{name: "vm.watermark_scale_factor", least: 1, most: 3000}, // 1000 before 5.19
}

// queueValues are those of the files in queueFiles that take a number, by
// block/blk-sysfs.c. A flag that is written as 5 reads back as 1, and fewer
// requests than BLKDEV_MIN_RQ as that: neither is what the plan says.
var queueValues = []valued{
	{name: "add_random", most: 1},
	{name: "discard_max_bytes", of: "bytes", most: unbounded, size: unit.B},
	{name: "io_poll", most: 1},
	{name: "io_poll_delay", of: "microseconds", least: -1, most: math.MaxInt32, time: time.Microsecond},
	{name: "io_timeout", of: "milliseconds", least: 1, most: math.MaxUint32, time: time.Millisecond},
	{name: "iostats", most: 1},
	{name: "iostats_passthrough", most: 1},
	{name: "max_sectors_kb", of: "KiB", most: math.MaxUint32, size: unit.KiB},
	{name: "nomerges", most: 2},
	{name: "nr_requests", least: 4, most: math.MaxUint32},
	{name: "read_ahead_kb", of: "KiB", most: math.MaxUint32, size: unit.KiB},
	{name: "rotational", most: 1},
	{name: "rq_affinity", most: 2},
	{name: "stable_writes", most: 1},
	{name: "throttle_sample_time", of: "milliseconds", least: 1, most: math.MaxUint32, time: time.Millisecond},
	{name: "wbt_lat_usec", of: "microseconds", least: -1, most: unbounded, time: time.Microsecond}, // -1 is the default
	{name: "write_zeroes_unmap_max_bytes", of: "bytes", most: unbounded, size: unit.B},
	{name: "zone_append_max_bytes", of: "bytes", most: unbounded, size: unit.B},
}

// dotted gives a sysctl's name as the tables have it; sysctl(8) takes both.
func dotted(key string) string { return strings.ReplaceAll(key, "/", ".") }

// wrongValue says what is wrong with the value of a setting, or "".
func wrongValue(what, key, text string) string {
	table := queueValues
	if what == "sysctl" {
		table, key = sysctlValues, dotted(key)
	}
	i := slices.IndexFunc(table, func(v valued) bool { return v.name == key })
	if i < 0 {
		return ""
	}
	return table[i].wrong(strings.TrimSpace(text))
}

func (v valued) wrong(text string) string {
	want := "want a whole number"
	if v.of != "" {
		want += " of " + v.of
	}
	if !wholeNumber.MatchString(text) {
		if n, ok := v.meant(text); ok {
			return fmt.Sprintf("%s %s: %s: write %d", v.name, quote(text), want, n)
		}
		return fmt.Sprintf("%s %s: %s, such as %d", v.name, quote(text), want, max(v.least, 1))
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil && n >= v.least && n <= v.most:
		return ""
	case v.name == "vm.dirty_bytes" && n < v.least:
		return fmt.Sprintf("%s %s: the least is two pages, %d; to have none, set vm.dirty_ratio alone", v.name, clip(text), v.least)
	case err == nil && n < v.least && v.most >= math.MaxInt32:
		return fmt.Sprintf("%s %s: %s, at least %d", v.name, clip(text), want, v.least)
	}
	return fmt.Sprintf("%s %s: %s from %d to %d", v.name, clip(text), want, v.least, v.most)
}

// meant works out what was written with a unit: 8MiB in bytes, 5s in
// centiseconds, 10% in percent.
func (v valued) meant(text string) (n int64, ok bool) {
	switch {
	case v.size > 0:
		s, err := unit.ParseSize(text)
		n, ok = int64(s/v.size), err == nil && s%v.size == 0
	case v.time > 0:
		d, err := unit.ParseDuration(text)
		n, ok = int64(d.Std()/v.time), err == nil && d.Std()%v.time == 0
	case v.of == "percent":
		i, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(text, "%")), 10, 64)
		n, ok = i, err == nil
	}
	return n, ok && n >= v.least && n <= v.most
}

// exclusives are sysctls of which one, when it is set, sets the other to 0: the
// handlers in mm/page-writeback.c, such as dirty_bytes_handler.
var exclusives = [][2]string{
	{"vm.dirty_bytes", "vm.dirty_ratio"},
	{"vm.dirty_background_bytes", "vm.dirty_background_ratio"},
}

// exclusive refuses settings of which only one can hold, in an arm, in a
// workload, and in a workload that some arm runs. The guest would read back that
// one did not take, and the report would say so of the arm's kernel.
func (c *checker) exclusive() {
	arms, list := c.root.get("arms"), c.root.get("workloads")
	if arms != nil {
		for _, arm := range arms.fields {
			c.excludes("arm "+arm.key.text, arm.get("sysctl"), arm.get("sysctl"))
		}
	}
	if list == nil {
		return
	}
	for _, item := range list.items {
		own := item.get("settings", "sysctl")
		c.excludes("this workload", own, own)
		if arms == nil || own == nil {
			continue
		}
		for _, arm := range arms.fields {
			c.excludes("arm "+arm.key.text, arm.get("sysctl"), own)
		}
	}
}

// excludes reports at entries of there, one pair at a time, that those of here
// exclude.
func (c *checker) excludes(who string, here, there *node) {
	if here == nil || there == nil || here.broken() || there.broken() {
		return
	}
	for _, pair := range exclusives {
		for i, name := range pair {
			one, other := sysctlAt(here, name), sysctlAt(there, pair[1-i])
			// In one place the later of the two is marked.
			if one == nil || other == nil || here == there && slices.Index(here.fields, one) > slices.Index(there.fields, other) {
				continue
			}
			if isZero(one) || isZero(other) {
				continue // what the kernel makes of it anyway
			}
			c.entry(other, "%s excludes %s of %s in line %d, column %d: the kernel sets one to 0 where the other is set; keep one of them",
				other.key.text, one.key.text, who, one.key.line, one.key.column)
			return
		}
	}
}

// sysctlAt finds an entry by its name with dots, however it is written.
func sysctlAt(n *node, name string) *node {
	if n == nil {
		return nil
	}
	i := slices.IndexFunc(n.fields, func(f *node) bool { return dotted(f.key.text) == name })
	if i < 0 {
		return nil
	}
	return n.fields[i]
}

func isZero(n *node) bool { return strings.TrimSpace(n.text) == "0" }

// workloadSettings checks what a workload sets as the settings of an arm are
// checked. Which kernel it meets differs by arm, so that queue files which only a
// patch may bring pass.
func (c *checker) workloadSettings(item *node) {
	c.settings("sysctl", item.get("settings", "sysctl"), kernels.Source{})
	c.settings("queue", item.get("settings", "queue"), kernels.Source{})
}
