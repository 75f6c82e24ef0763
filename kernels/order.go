package kernels

import (
	"path/filepath"
	"strings"
)

// Module is a loadable module and what is loaded before it.
type Module struct {
	Name string   // as in /proc/modules
	File string   // relative to Artifact.Modules/lib/modules/VERSION
	Deps []string // names of all modules that come before it, in load order
}

// ModuleDir is the directory that the files of modules are in, or "".
func (a Artifact) ModuleDir() string {
	if a.Modules == "" {
		return ""
	}
	return filepath.Join(a.Modules, "lib", "modules", a.Version)
}

// Order gives the modules of these names with all that they need, in an order
// in which they can be loaded one by one. Names of modules that are built in,
// and names that the kernel does not know, are left out; see Missing.
//
// What comes before a module is what it links against and what it names as its
// soft "pre" dependencies: for libcrc32c that is crc32c, in every
// implementation there is. A soft dependency may fail to load, as
// crc32c_intel does on a CPU without the instruction, and then does not matter.
func (a Artifact) Order(names ...string) ([]Module, error) {
	if a.Modules == "" {
		return nil, nil
	}
	x, err := readIndex(a.ModuleDir())
	if err != nil {
		return nil, err
	}
	var out []Module
	for _, name := range x.order(names) {
		before := x.order([]string{name})
		out = append(out, Module{Name: name, File: x.files[name], Deps: before[:len(before)-1]})
	}
	return out, nil
}

// Closure gives the files of Order, relative to a.Modules.
func (a Artifact) Closure(names ...string) ([]string, error) {
	order, err := a.Order(names...)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range order {
		out = append(out, filepath.Join("lib", "modules", a.Version, m.File))
	}
	return out, nil
}

// Missing gives those of the names that are neither built in nor there to be
// loaded. It cannot tell for a kernel without modules, and gives none.
func (a Artifact) Missing(names ...string) ([]string, error) {
	if a.Modules == "" {
		return nil, nil
	}
	x, err := readIndex(a.ModuleDir())
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range names {
		if !x.builtin[moduleName(name)] && len(x.find(name)) == 0 {
			out = append(out, name)
		}
	}
	return out, nil
}

// Unpack says whether module files must be decompressed before the kernel is
// given them: where it cannot do so itself (CONFIG_MODULE_DECOMPRESS, since
// Linux 5.17), or its configuration is not known.
func (a Artifact) Unpack() (bool, error) {
	c, err := a.ReadConfig()
	return !c.Has("CONFIG_MODULE_DECOMPRESS"), err
}

// order walks the dependencies depth first. Soft dependencies may form a
// circle, which is cut where it closes.
func (x *moduleIndex) order(names []string) []string {
	var out []string
	seen := make(map[string]bool)
	var visit func(module string)
	visit = func(module string) {
		if seen[module] {
			return
		}
		seen[module] = true
		for _, name := range x.pre[module] {
			for _, m := range x.find(name) {
				visit(m)
			}
		}
		// modules.dep lists the innermost last.
		deps := x.deps[module]
		for i := len(deps) - 1; i >= 0; i-- {
			if _, ok := x.files[deps[i]]; ok {
				visit(deps[i])
			}
		}
		out = append(out, module)
	}
	for _, name := range names {
		for _, m := range x.find(strings.TrimSpace(name)) {
			visit(m)
		}
	}
	return out
}
