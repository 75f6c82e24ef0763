package kernels

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// moduleIndex is what depmod and the kernel's build say about the modules of
// one kernel. Names have underscores only, as in /proc/modules; files are
// relative to the module directory.
type moduleIndex struct {
	files   map[string]string   // module -> its file
	deps    map[string][]string // module -> modules that it needs, in any order
	pre     map[string][]string // module -> names to load before it where they are there
	alias   map[string][]string // name -> modules that answer to it; no patterns
	builtin map[string]bool
}

// readIndex reads the files of a module directory. See modules.dep(5).
func readIndex(dir string) (*moduleIndex, error) {
	x := newIndex()
	for _, name := range []string{"modules.dep", "modules.softdep", "modules.alias", "modules.builtin"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			if os.IsNotExist(err) && name != "modules.dep" {
				continue
			}
			return nil, fmt.Errorf("read module index: %w", err)
		}
		if err := x.parse(name, string(text)); err != nil {
			return nil, fmt.Errorf("read module index: %s: %w", filepath.Join(dir, name), err)
		}
	}
	return x, nil
}

func newIndex() *moduleIndex {
	return &moduleIndex{
		files: make(map[string]string), deps: make(map[string][]string),
		pre: make(map[string][]string), alias: make(map[string][]string),
		builtin: make(map[string]bool),
	}
}

// parse reads one of the files, by its name.
func (x *moduleIndex) parse(name, text string) error {
	parse := map[string]func(line string) error{
		"modules.dep": x.dep, "modules.softdep": x.softdep, "modules.alias": x.aliased, "modules.builtin": x.built,
	}[name]
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := parse(line); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return nil
}

// moduleName gives the name of a module from its file or from how people write
// it: kernel/fs/mbcache.ko.xz is mbcache, mq-deadline is mq_deadline.
func moduleName(file string) string {
	name := path.Base(file)
	if i := strings.Index(name, ".ko"); i > 0 {
		name = name[:i]
	}
	return strings.ReplaceAll(name, "-", "_")
}

// dep reads "FILE: NEEDED-FILE NEEDED-FILE ...".
func (x *moduleIndex) dep(line string) error {
	file, rest, ok := strings.Cut(line, ":")
	if !ok || file == "" {
		return fmt.Errorf("want FILE: FILES, not %.80q", line)
	}
	name := moduleName(file)
	x.files[name] = path.Clean(file)
	for _, needed := range strings.Fields(rest) {
		x.deps[name] = append(x.deps[name], moduleName(needed))
	}
	return nil
}

// softdep reads "softdep MODULE pre: NAME ... post: NAME ...".
func (x *moduleIndex) softdep(line string) error {
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "softdep" {
		return fmt.Errorf("want softdep MODULE pre: NAMES, not %.80q", line)
	}
	name, before := moduleName(words[1]), false
	for _, w := range words[2:] {
		switch {
		case w == "pre:":
			before = true
		case w == "post:":
			before = false
		case before:
			x.pre[name] = append(x.pre[name], moduleName(w))
		}
	}
	return nil
}

// aliased reads "alias NAME-OR-PATTERN MODULE". Patterns are for devices.
func (x *moduleIndex) aliased(line string) error {
	words := strings.Fields(line)
	if len(words) != 3 || words[0] != "alias" {
		return fmt.Errorf("want alias NAME MODULE, not %.80q", line)
	}
	if !strings.ContainsAny(words[1], "*?[") {
		name := moduleName(words[1])
		x.alias[name] = append(x.alias[name], moduleName(words[2]))
	}
	return nil
}

// built reads the file that a built-in module would have.
func (x *moduleIndex) built(line string) error {
	x.builtin[moduleName(line)] = true
	return nil
}

// find gives the loadable modules that a name means: its own, or those with
// that alias. Both lists are empty where nothing of the name can be loaded.
func (x *moduleIndex) find(name string) []string {
	name = moduleName(name)
	if _, ok := x.files[name]; ok {
		return []string{name}
	}
	var out []string
	for _, m := range x.alias[name] {
		if _, ok := x.files[m]; ok {
			out = append(out, m)
		}
	}
	return out
}
