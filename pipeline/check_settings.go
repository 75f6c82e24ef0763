package pipeline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"spindle/kernels"
	"spindle/workloads"
)

// settings checks names and values of kernel settings. Whether the kernel has
// them is seen in the guest only, and a kernel that somebody built may have
// some that nobody knows: of those only what looks like a slip is refused.
// Debian's kernels have what Linux has.
func (c *checker) settings(what string, n *node, kernel kernels.Source) {
	if n == nil || n.broken() {
		return
	}
	for _, f := range n.fields {
		key := f.key.text
		if err := workloads.ValidKnob(what, key); err != nil {
			c.entry(f, "%v", err)
			continue
		}
		problem := ""
		switch {
		case strings.ContainsAny(key, " \t"):
			problem = fmt.Sprintf("%s %s: want a name such as %s", what, quote(key),
				map[string]string{"sysctl": "vm.dirty_ratio", "queue": "wbt_lat_usec"}[what])
		case what == "sysctl":
			problem = wrongSysctl(key)
		default:
			problem = wrongQueueFile(key, kernel.Deb != "")
		}
		switch {
		case problem != "":
			c.entry(f, "%s", problem)
		case strings.TrimSpace(f.text) == "" || strings.ContainsFunc(f.text, unicode.IsControl):
			c.value(f, "%s wants one line of text, not %s", f.name(), quote(f.text))
		default:
			if wrong := wrongValue(what, key, f.text); wrong != "" {
				c.value(f, "%s", wrong)
			}
		}
	}
}

// sysctlRoots are the directories of /proc/sys (Documentation/admin-guide/sysctl).
var sysctlRoots = []string{"vm", "fs", "kernel", "dev", "net", "abi", "crypto", "debug", "sunrpc", "user"}

// sysctls are those that plans are about, to tell what a slip was meant to be
// (Documentation/admin-guide/sysctl/vm.rst, and fs.rst for XFS's and aio's).
var sysctls = []string{
	"vm.dirty_background_bytes", "vm.dirty_background_ratio", "vm.dirty_bytes", "vm.dirty_expire_centisecs",
	"vm.dirty_ratio", "vm.dirty_writeback_centisecs", "vm.dirtytime_expire_seconds", "vm.highmem_is_dirtyable",
	"vm.laptop_mode", "vm.min_free_kbytes", "vm.overcommit_memory", "vm.overcommit_ratio", "vm.page-cluster",
	"vm.swappiness", "vm.vfs_cache_pressure", "vm.watermark_boost_factor", "vm.watermark_scale_factor", "vm.zone_reclaim_mode",
	"fs.aio-max-nr", "fs.xfs.xfssyncd_centisecs", "fs.xfs.age_buffer_centisecs", "kernel.sched_autogroup_enabled",
}

// wrongSysctl says what is wrong with the name of a sysctl, or "".
func wrongSysctl(key string) string {
	name := strings.ReplaceAll(key, "/", ".") // sysctl(8) takes both
	root, rest, dotted := strings.Cut(name, ".")
	if dotted && slices.Contains(sysctlRoots, root) {
		if near := nearest(name, sysctls); near != "" && near != name && slips(name, near) == 1 {
			return fmt.Sprintf("unknown sysctl %s: did you mean %s?", quote(key), near)
		}
		return ""
	}
	if !dotted {
		rest = name
	}
	meant := nearest(name, sysctls)
	for _, s := range sysctls {
		if _, last, _ := strings.Cut(s, "."); last == rest {
			meant = s
		}
	}
	msg := fmt.Sprintf("unknown sysctl %s", quote(key))
	switch {
	case meant != "":
		return msg + ": did you mean " + meant + "?"
	case !dotted:
		return msg + ": want a name such as vm.dirty_ratio"
	}
	return msg + ": their names begin with " + strings.Join(sysctlRoots[:5], "., ") + ". and the like"
}

// wrongQueueFile says what is wrong with the name of a file in
// /sys/block/X/queue, or "". Whatever belongs to a scheduler passes.
func wrongQueueFile(key string, debian bool) string {
	if strings.HasPrefix(key, "iosched/") {
		return ""
	}
	var settable []string
	for _, f := range queueFiles {
		switch {
		case f.name == key && f.fixed:
			return fmt.Sprintf("queue %s: cannot be set, it is what the drive is", key)
		case f.name == key:
			return ""
		case !f.fixed:
			settable = append(settable, f.name)
		}
	}
	if !debian && nearest(key, settable) == "" {
		return ""
	}
	return unknown("queue file", key, settable)
}

// A mount option is NAME or NAME=VALUE: what mount(8) splits at commas. Commas
// may be in a value only between quotes, as in an SELinux context.
var mountOption = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:@-]*(=("[^"]*"|[^",\s]+))?$`)

// mountOptions checks the form of mount options. Which there are, only the
// kernel's file system knows.
func (c *checker) mountOptions(n *node) {
	if n == nil || n.broken() {
		return
	}
	check := func(at *node, option string) {
		switch {
		case !mountOption.MatchString(option):
			c.value(at, "mount option %s: want NAME or NAME=VALUE, such as commit=30", quote(option))
		case option == "ro":
			c.value(at, "mount option ro: nothing could be written then")
		}
	}
	if n.kind == sequence {
		for _, item := range n.items {
			check(item, item.text)
		}
		return
	}
	for _, option := range strings.Split(strings.TrimSpace(n.text), ",") {
		if !n.wrong {
			check(n, option)
		}
	}
}

// lacksQueueFiles says which queue files of an arm a Debian kernel of that
// version (6.12.57+deb13-amd64) does not have, by their keys.
func lacksQueueFiles(queue map[string]string, version string) map[string]string {
	at, ok := release(version)
	if !ok {
		return nil
	}
	out := make(map[string]string)
	for _, f := range queueFiles {
		if _, asked := queue[f.name]; !asked {
			continue
		}
		if since, ok := release(f.since); ok && at < since {
			out[f.name] = fmt.Sprintf("queue %s came with Linux %s", f.name, f.since)
		}
		if gone, ok := release(f.gone); ok && at >= gone {
			out[f.name] = fmt.Sprintf("queue %s left Linux in %s", f.name, f.gone)
		}
	}
	return out
}

// release makes a number of a version's first two parts, to compare by.
func release(version string) (int, bool) {
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n != 2 {
		return 0, false
	}
	return major<<16 | minor, true
}
