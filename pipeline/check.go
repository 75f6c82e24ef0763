package pipeline

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"spindle/internal/unit"
	"spindle/kernels"
	"spindle/pipeline/drive"
	"spindle/pipeline/machine"
	"spindle/workloads/mdraid"
)

// checker looks for what is wrong with a plan that the types of its parts do
// not say. Parts where a problem is known already are left alone.
type checker struct {
	*source
	plan *Plan
	root *node
}

// Bounds of what a plan may ask for. They are far beyond use and catch slips.
const (
	maxRepeat  = 1000
	maxSamples = 100_000
	minMemory  = 64 * unit.MiB
	maxMemory  = 4 * unit.TiB
	// What Debian's kernels need to come up to a mounted ext4, with this root and
	// its init, before any workload. 6.1.192 (amd64) panicked with 80 and 96 MiB
	// ("System is deadlocked on memory") and came up in 160 MiB; 6.12.117 had its
	// job killed for want of memory with 80 MiB, and came up in 128 MiB with 41 MiB
	// left. Cloud kernels come up in 96 MiB, with 18 MiB left. The bound leaves a
	// workload some pages to dirty. A kernel of one's own may be smaller.
	debianMemory = 192 * unit.MiB
	maxCPUs      = 255
	minBootLimit = time.Second
	minLimit     = time.Second
	maxLimit     = 30 * 24 * time.Hour
)

func (c *checker) check() {
	c.required()
	c.name()
	c.machine()
	c.sources()
	c.drives()
	c.virtual()
	c.arms()
	c.conditions()
	c.workloads()
	c.exclusive()
	c.options()
	c.together()
	c.size()
}

// ok says whether the node is in the plan and worth a closer look.
func (c *checker) ok(keys ...string) (*node, bool) {
	n := c.root.get(keys...)
	return n, n != nil && !n.broken()
}

// required names the parts that no plan does without.
func (c *checker) required() {
	for _, r := range []struct{ key, want string }{
		{"name", "a word that names the run, such as name: wbt-v5"},
		{"kernels", "a mapping of names to kernels, such as base: {deb: linux-image-6.12-amd64}"},
		{"drives", "a mapping of names to drives, such as sata: {profile: sata-7200}"},
		{"arms", "a mapping of names to arms, the baseline first, such as vanilla: {kernel: base}"},
		{"conditions", "a mapping with filesystem and scheduler"},
		{"workloads", "a list, such as - dd: {size: 96MiB, conv: fsync}"},
	} {
		n := c.root.get(r.key)
		switch {
		case n == nil && c.root.wrong:
			// It may be behind a key that could not be read.
		case n == nil && slices.ContainsFunc(c.root.fields, func(f *node) bool { return f.wrong && nearest(f.key.text, []string{r.key}) != "" }):
			// Written with a slip, which is reported.
		case n == nil:
			c.at(c.root.line, c.root.column, c.root.width, fmt.Sprintf("the plan has no %s: it wants %s", r.key, r.want))
		case n.kind != scalar && len(n.fields)+len(n.items) == 0 && !n.broken():
			c.entry(n, "%s is empty: it wants %s", r.key, r.want)
		case n.null && !n.broken():
			c.entry(n, "%s is empty: it wants %s", r.key, r.want)
		}
	}
}

// slugs are names that become parts of file names and of lines in reports.
var slugs = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

const maxSlug = 40

// slug checks a name, which stands at n: in its key or, if value is set, in
// its value.
func (c *checker) slug(n *node, what, name string, value bool) {
	report := c.entry
	if value {
		report = c.value
	}
	switch {
	case !slugs.MatchString(name):
		report(n, "%s %s: only letters, digits, \".\", \"_\" and \"-\", with a letter or digit first (it becomes part of file names)", what, quote(name))
	case len(name) > maxSlug:
		report(n, "%s %s has %d characters: at most %d keep tables readable", what, quote(name), len(name), maxSlug)
	}
}

func (c *checker) name() {
	if n, ok := c.ok("name"); ok {
		c.slug(n, "name", c.plan.Name, true)
	}
}

func (c *checker) machine() {
	m := c.plan.Machine
	if n, ok := c.ok("machine", "memory"); ok && (m.Memory < minMemory || m.Memory > maxMemory) {
		c.value(n, "memory %s: a guest takes from %s to %s", m.Memory, minMemory, maxMemory)
	} else if ok && m.Memory%unit.MiB != 0 {
		c.value(n, "memory %s: want whole MiB", m.Memory)
	}
	if n, ok := c.ok("machine", "memory"); ok && m.Memory < debianMemory {
		for _, name := range c.plan.kernelsUsed() {
			if c.plan.Kernels[name].Deb != "" {
				c.value(n, "memory %s: kernel %s and the guest's programs need at least %s to come up", m.Memory, name, debianMemory)
				break
			}
		}
	}
	if n, ok := c.ok("machine", "cpus"); ok && (m.CPUs < 1 || m.CPUs > maxCPUs) {
		c.value(n, "cpus %d: a guest takes from 1 to %d", m.CPUs, maxCPUs)
	}
	if n, ok := c.ok("machine", "libvirt"); ok {
		if err := machine.ValidLibvirt(m.Libvirt); err != nil {
			c.value(n, "%v", err)
		}
	}
	c.word(c.root.get("machine", "accel"), "accelerator", m.Accel, []string{"auto", "kvm", "tcg"})
	if n, ok := c.ok("machine", "boot-limit"); ok && (m.BootLimit.Std() < minBootLimit || m.BootLimit.Std() > maxLimit) {
		c.value(n, "boot-limit %s: want from %s to %s", m.BootLimit, unit.Duration(minBootLimit), unit.Duration(maxLimit))
	}
}

// sources checks the kernels, the archive and the image they come from.
func (c *checker) sources() {
	if n := c.root.get("kernels"); n != nil {
		for _, f := range n.fields {
			c.slug(f, "kernel", f.key.text, false)
			c.homes(f)
			if !f.broken() {
				c.valid(f, "kernel "+f.key.text, c.plan.Kernels[f.key.text].Validate())
			}
		}
	}
	if n, ok := c.ok("debian"); ok {
		c.valid(n, "debian", c.plan.Debian.Validate())
	}
	if n, ok := c.ok("image"); ok {
		c.homes(n)
		c.valid(n, "image", c.plan.Image.Validate())
	}
}

// homes refuses paths that a shell would read as another user's home: no file
// is looked for there, and one named "~bob" is hardly meant.
func (c *checker) homes(n *node) {
	for _, key := range []string{"file", "path", "modules", "git", "tarball", "tree", "series"} {
		if v := n.get(key); v != nil && !v.broken() && strings.HasPrefix(v.text, "~") && !strings.HasPrefix(v.text, "~/") {
			c.value(v, "%s %s: only ~/ is known, for the home of whoever runs spindle: write the whole path", key, v.text)
		}
	}
}

func (c *checker) drives() {
	n := c.root.get("drives")
	if n == nil {
		return
	}
	for _, f := range n.fields {
		c.slug(f, "drive", f.key.text, false)
		d := c.plan.Drives[f.key.text]
		if q := f.get("queue-depth"); q != nil && !q.broken() && d.QueueDepth == 0 {
			c.value(q, "queue-depth 0: write at least 1, or leave it out")
		}
		if profile := f.get("profile"); drive.IsFile(d.Profile) {
			own, err := d.ReadProfile(filepath.Dir(c.plan.File))
			if err != nil {
				c.value(profile, "profile: %v", err)
			}
			d, c.plan.Drives[f.key.text] = own, own
		} else {
			c.word(profile, "profile", d.Profile, drive.Profiles())
		}
		c.word(f.get("bus"), "bus", string(d.Bus), kernels.Buses())
		if f.broken() {
			continue
		}
		if err := d.Validate(); err != nil {
			// Which drive it is about is told by the place.
			message := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "drive: "), "drive "+d.Profile+": ")
			c.valid(f, "drive "+f.key.text, errors.New(message))
			continue
		}
		if d.OfHost() && c.plan.Machine.Libvirt != "" {
			c.entry(f.get("passthrough"), "passthrough: a disk of the host is passed on by its descriptor, which libvirt cannot do")
		}
		if md := f.get("md"); md != nil && c.plan.Image.File == "" && !slices.Contains(c.plan.Image.Packages, mdraid.Package) {
			c.entry(md, "md: the guest makes the array by %s: write image: {packages: [%s]}", mdraid.Program, mdraid.Package)
		}
	}
}

// word reports a value that is not one of those known.
func (c *checker) word(n *node, kind, word string, known []string) {
	if n != nil && !n.broken() && !slices.Contains(known, word) {
		c.value(n, "%s", unknown(kind, word, known))
	}
}

func (c *checker) arms() {
	for i := range c.plan.Arms {
		arm := &c.plan.Arms[i]
		n := c.root.get("arms", arm.Name)
		c.slug(n, "arm", arm.Name, false)
		if n.broken() {
			continue
		}
		kernel := n.get("kernel")
		if kernel == nil {
			c.entry(n, "arm %s has no kernel: write kernel: and one of the names under kernels", arm.Name)
			continue
		}
		if all := c.root.get("kernels"); all != nil && !all.wrong && all.get(arm.Kernel) == nil {
			c.value(kernel, "%s", unknown("kernel", arm.Kernel, keys(all)))
		}
		c.settings("sysctl", n.get("sysctl"), c.plan.Kernels[arm.Kernel])
		c.settings("queue", n.get("queue"), c.plan.Kernels[arm.Kernel])
		c.armSettings(n, arm)
		c.mountOptions(n.get("mount"))
		if strings.ContainsFunc(arm.Cmdline, unicode.IsControl) {
			c.value(n.get("cmdline"), "cmdline is one line of kernel parameters, not %s", quote(arm.Cmdline))
		}
	}
}

// valid reports what a room says about its part of the plan. Such messages
// begin with the keys that they are about ("fsync-tester: mode ..."), as far
// as they are about some; that is where they are placed.
func (c *checker) valid(n *node, what string, err error) {
	if err == nil {
		return
	}
	at, rest := n, err.Error()
	for {
		i := slices.IndexFunc(at.fields, func(f *node) bool {
			return strings.HasPrefix(rest, f.key.text+" ") || strings.HasPrefix(rest, f.key.text+":")
		})
		if i < 0 {
			break
		}
		at = at.fields[i]
		rest = strings.TrimLeft(rest[len(at.key.text):], ": ")
	}
	// Of fio's options the message has the pair as a job file has it.
	if options := at.get("options"); options != nil {
		i := slices.IndexFunc(options.fields, func(f *node) bool {
			return f.kind == scalar && strings.Contains(rest, " "+f.key.text+"="+f.text+":")
		})
		if i >= 0 {
			at = options.fields[i]
		}
	}
	switch {
	case at == n:
		c.entry(n, "%s: %v", what, err)
	case at.kind == scalar:
		c.value(at, "%v", err)
	default:
		c.entry(at, "%v", err)
	}
}

func keys(n *node) []string {
	var names []string
	if n != nil {
		for _, f := range n.fields {
			names = append(names, f.key.text)
		}
	}
	return names
}
