package pipeline

import (
	"reflect"
	"strings"
)

// Arm is one side of the comparison: a kernel, or a kernel with settings.
type Arm struct {
	Name    string            `yaml:"-"`
	Kernel  string            `yaml:"kernel"`  // name of one of the plan's kernels
	Sysctl  map[string]string `yaml:"sysctl"`  // vm.dirty_ratio: 10
	Queue   map[string]string `yaml:"queue"`   // files under /sys/block/X/queue
	Cmdline string            `yaml:"cmdline"` // put behind the kernel's command line
	Mount   MountOptions      `yaml:"mount"`   // added to those of the filesystem
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
