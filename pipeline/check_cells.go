package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"spindle/internal/unit"
	"spindle/kernels"
	"spindle/workloads"
)

func (c *checker) conditions() {
	n, ok := c.ok("conditions")
	if n == nil {
		return
	}
	for _, axis := range []struct {
		key    string
		values []string
		kind   string
		known  []string
		must   bool
	}{
		{"drive", c.plan.Conditions.Drive, "drive", keys(c.root.get("drives")), false},
		{"filesystem", c.plan.Conditions.Filesystem, "filesystem", filesystems(), true},
		{"scheduler", c.plan.Conditions.Scheduler, "scheduler", kernels.Schedulers(), true},
	} {
		list := n.get(axis.key)
		if list == nil {
			if axis.must && ok && len(n.fields) > 0 {
				c.entry(n, "conditions have no %s: it wants a list of some of %s", axis.key, strings.Join(axis.known, ", "))
			}
			continue
		}
		if list.wrong || axis.key == "drive" && (c.root.get("drives") == nil || c.root.get("drives").wrong) {
			continue
		}
		for i, item := range list.items {
			if item.broken() {
				continue
			}
			if v := axis.values[i]; !slices.Contains(axis.known, v) {
				c.value(item, "%s", unknown(axis.kind, v, axis.known))
			}
		}
	}
}

// filesystems gives those that a guest can make, the one that is mostly meant
// first: a slip like ext5 is as near to its neighbours.
func filesystems() []string {
	all := workloads.Filesystems()
	slices.SortStableFunc(all, func(a, b string) int {
		switch {
		case a == "ext4":
			return -1
		case b == "ext4":
			return 1
		}
		return 0
	})
	return all
}

// formerly adds why kernels of today do not have a scheduler.
func formerly(scheduler string) string {
	switch scheduler {
	case "cfq":
		return " (cfq left Linux in 5.0)"
	case "noop", "deadline":
		return " (the single-queue schedulers left Linux in 5.0)"
	}
	return ""
}

func (c *checker) workloads() {
	n := c.root.get("workloads")
	if n == nil || n.wrong {
		return
	}
	first := make(map[string]*node)
	for i, item := range n.items {
		if item.broken() {
			continue
		}
		w := c.plan.Workloads[i]
		if n := item.get("fsync-tester", "iterations"); n != nil && w.FsyncTester != nil && w.FsyncTester.Iterations == 0 {
			c.value(n, "iterations 0: write at least 1, or leave it out")
			continue
		}
		c.valid(item, "workload", w.Validate())
		if !item.broken() {
			c.workloadSettings(item)
		}
		if item.broken() {
			continue
		}
		name := w.Slug()
		if given := item.get("name"); given != nil {
			c.slug(given, "name", name, true)
		}
		if other := first[name]; other != nil {
			c.entry(item, "a workload named %s is there already, in line %d: give this one a name of its own (name: ...)", quote(name), other.line)
			continue
		}
		first[name] = item
	}
}

// options checks which filesystems mkfs and mount options are for.
func (c *checker) options() {
	for _, key := range []string{"mkfs", "mount"} {
		n := c.root.get(key)
		if n == nil || n.wrong {
			continue
		}
		for _, f := range n.fields {
			if !f.broken() && !slices.Contains(filesystems(), f.key.text) {
				c.entry(f, "%s", unknown("filesystem", f.key.text, filesystems()))
			}
			if key == "mount" {
				c.mountOptions(f)
			}
		}
	}
}

// together checks that each workload can run on each filesystem, by the rule
// that the guest has for its jobs, and that it fits on each drive.
func (c *checker) together() {
	if len(c.problems) > 0 {
		return
	}
	c.mkfsFits()
	p := c.plan
	list := c.root.get("workloads")
	for i, w := range p.Workloads {
		for _, arm := range p.Arms {
			for _, f := range p.Conditions.Filesystem {
				j := workloads.Job{
					Drive: "any", Dir: "/any", Filesystem: f, Workload: w,
					MkfsOptions: p.mkfsOptions(f, &arm), MountOptions: p.MountOptions(f, &arm),
					Queue: arm.Queue, Sysctl: arm.Sysctl, Set: arm.settings(),
				}
				if w.Aged != nil {
					j.Made = "before"
				}
				if err := j.Validate(); err != nil && !list.items[i].wrong {
					c.entry(list.items[i], "%v", err)
				}
			}
		}
		for _, d := range p.Conditions.Drive {
			if n := list.items[i].get("aged"); n != nil && !list.items[i].wrong {
				switch {
				case p.Drives[d].OfHost():
					c.value(n, "aged: drive %s is a disk of the host, onto which spindle puts no copy of a file system", d)
				case p.Virtual():
					c.value(n, "aged: file systems are aged in real time only; take machine: time: virtual out")
				}
			}
			if dev, err := p.Drives[d].Device(); err == nil && dev.Size > 0 && w.Space() > dev.Size && !list.items[i].wrong {
				c.entry(list.items[i], "workload %s fills %s, and drive %s has %s", w.Slug(), w.Space().Near(), d, dev.Size.Near())
			}
		}
	}
}

// size checks how much there is to do.
func (c *checker) size() {
	p := c.plan
	c.budget()
	if n, ok := c.ok("repeat"); ok && (p.Repeat < 1 || p.Repeat > maxRepeat) {
		c.value(n, "repeat %d: want from 1 to %d blocks", p.Repeat, maxRepeat)
	}
	if n, ok := c.ok("limit"); ok && (p.Limit.Std() < minLimit || p.Limit.Std() > maxLimit) {
		c.value(n, "limit %s: want from %s to %s", p.Limit, unit.Duration(minLimit), unit.Duration(maxLimit))
	}
	if len(c.problems) > 0 {
		return
	}
	conditions := len(p.Conditions.Drive) * len(p.Conditions.Filesystem) * len(p.Conditions.Scheduler) * len(p.Workloads)
	if samples := conditions * len(p.Arms) * p.Repeat; samples > maxSamples {
		c.at(c.root.line, c.root.column, c.root.width, fmt.Sprintf("the plan has %d samples (%s × %s × %s): at most %d can be laid out",
			samples, count(len(p.Arms), "arm"), count(conditions, "condition"), count(p.Repeat, "block"), maxSamples))
	}
}
