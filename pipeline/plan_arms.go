package pipeline

import (
	"reflect"
	"strings"

	"spindle/internal/unit"
	"spindle/workloads"
)

// Arm is one side of the comparison: a kernel, or a kernel with settings.
type Arm struct {
	Name    string            `yaml:"-"`
	Kernel  string            `yaml:"kernel"`  // name of one of the plan's kernels
	Sysctl  map[string]string `yaml:"sysctl"`  // vm.dirty_ratio: 10
	Queue   map[string]string `yaml:"queue"`   // files under /sys/block/X/queue
	Cmdline string            `yaml:"cmdline"` // put behind the kernel's command line
	Mount   MountOptions      `yaml:"mount"`   // added to those of the filesystem

	Iosched map[string]map[string]string `yaml:"iosched"` // of a scheduler, where it is the condition's: bfq: {slice_idle: 0}
	BDI     map[string]string            `yaml:"bdi"`     // of the file system's backing device: strict_limit: 1
	Cgroup  *workloads.Cgroup            `yaml:"cgroup"`  // that the workload runs in
	Trace   []string                     `yaml:"trace"`   // blk, or groups of events
	Mkfs    map[string]MkfsOptions       `yaml:"mkfs"`    // by filesystem; added to the plan's
	Memory  unit.Size                    `yaml:"memory"`  // 0 is the machine's
	CPUs    int                          `yaml:"cpus"`    // 0 is the machine's
}

// settings gives what the guest sets beside the sysctls and the queue's files.
func (a *Arm) settings() workloads.Settings {
	return workloads.Settings{Iosched: a.Iosched, BDI: a.BDI, Cgroup: a.Cgroup, Trace: a.Trace}
}

// memory and cpus give the size of the arm's guests.
func (p *Plan) memory(a *Arm) unit.Size {
	if a.Memory > 0 {
		return a.Memory
	}
	return p.Machine.Memory
}

func (p *Plan) cpus(a *Arm) int {
	if a.CPUs > 0 {
		return a.CPUs
	}
	return p.Machine.CPUs
}

// mkfsOptions gives the words to put behind mkfs for a filesystem in an arm.
func (p *Plan) mkfsOptions(filesystem string, a *Arm) []string {
	return append(append([]string(nil), p.Mkfs[filesystem]...), a.Mkfs[filesystem]...)
}

// Arms are a plan's arms in the order of its file.
type Arms []Arm

func (a *Arms) readNode(d *decoder, n *node) {
	if !d.expect(n, mapping, "a mapping of names to arms") {
		return
	}
	for _, f := range n.fields {
		arm := Arm{Name: f.key.text}
		d.set(f, reflect.ValueOf(&arm).Elem())
		*a = append(*a, arm)
	}
}

// MkfsOptions are words of mkfs's command line: in a plan one text that is
// split at spaces ("-O ^has_journal -E lazy_itable_init=0"), or a list of
// words where one of them has a space in it.
type MkfsOptions []string

func (o *MkfsOptions) readNode(d *decoder, n *node) {
	*o = d.words(n, "options, such as -O ^has_journal", strings.Fields)
}

// MountOptions are options of mount -o: in a plan one text that is split at
// commas ("noatime,commit=30"), or a list.
type MountOptions []string

func (o *MountOptions) readNode(d *decoder, n *node) {
	*o = d.words(n, "options, such as noatime,commit=30", func(s string) []string {
		return strings.Split(strings.TrimSpace(s), ",")
	})
}

// words reads a list of words, or one text that is split into them.
func (d *decoder) words(n *node, what string, split func(string) []string) []string {
	var words []string
	if n.kind == sequence {
		for _, item := range n.items { // the same word twice is fine here: -O a -O b
			if d.expect(item, scalar, "text") {
				words = append(words, item.text)
			}
		}
	} else if d.expect(n, scalar, what) {
		words = split(n.text)
	}
	if n.broken() {
		return nil
	}
	if len(words) == 0 {
		d.value(n, "%s is empty: it wants %s", n.name(), what)
	}
	for _, w := range words {
		switch {
		case strings.TrimSpace(w) == "":
			d.value(n, "%s has an empty word: it wants %s", n.name(), what)
			return nil
		case n.kind == scalar && strings.ContainsAny(w, `"'\`):
			d.value(n, "%s: quotes are not taken apart: write a list, one word an entry", n.name())
			return nil
		}
	}
	return words
}
