// Package kmod loads the modules of the running kernel by name, with what they
// depend on, from a list that the host made.
//
// Debian's packages carry no modules.dep and a guest should not spend seconds on
// depmod and modprobe, so the host works out the order and writes modules.json;
// here only finit_module(2) is left. It promises that dependencies are loaded
// before what needs them and that a module that is loaded already is no error.
//
// A name that is not in the list counts as built in: the host left out what the
// kernel has built in, and whoever needs the module sees what is missing. It
// knows no aliases beyond the ones the kernel itself asks for (see [List.Alias])
// and no module parameters.
package kmod

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Module is one file of the list.
type Module struct {
	Name string   `json:"name"` // "virtio_blk"
	File string   `json:"file"` // below the list's directory: kernel/drivers/block/virtio_blk.ko.xz
	Deps []string `json:"deps"` // names; direct or all, both will do
}

// List is modules.json: every module that the guest was given, each after the
// ones it depends on.
type List struct {
	Release string   `json:"release"` // uname -r
	Order   []Module `json:"order"`
}

// Decode reads modules.json and checks it: names and files are there and no
// file leaves the directory.
func Decode(data []byte) (List, error) {
	var l List
	if err := json.Unmarshal(data, &l); err != nil {
		return List{}, fmt.Errorf("read module list: %w", err)
	}
	for i, m := range l.Order {
		if m.Name == "" || !filepath.IsLocal(m.File) {
			return List{}, fmt.Errorf("read module list: entry %d: name %q, file %q", i, m.Name, m.File)
		}
	}
	return l, nil
}

// Read reads the list at path.
func Read(path string) (List, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return List{}, fmt.Errorf("read module list: %w", err)
	}
	return Decode(data)
}

// Closure gives the modules that these names need, themselves included, in
// load order. Names that are not in the list are left out.
func (l List) Closure(names ...string) []Module {
	byName := make(map[string]int, len(l.Order))
	for i, m := range l.Order {
		byName[plain(m.Name)] = i
	}
	wanted := make(map[int]bool)
	var want func(name string)
	want = func(name string) {
		i, ok := byName[plain(name)]
		if !ok || wanted[i] {
			return
		}
		wanted[i] = true
		for _, d := range l.Order[i].Deps {
			want(d)
		}
	}
	for _, n := range names {
		want(n)
	}
	var out []Module
	for i, m := range l.Order {
		if wanted[i] {
			out = append(out, m)
		}
	}
	return out
}

// Has tells whether a module of that name is in the list.
func (l List) Has(name string) bool { return l.find(name) != "" }

// find gives the name as the list has it, or "".
func (l List) find(name string) string {
	for _, m := range l.Order {
		if plain(m.Name) == plain(name) {
			return m.Name
		}
	}
	return ""
}

// prefixes are what request_module puts before a name: get_fs_type
// (fs/filesystems.c), crypto_larval_lookup (crypto/api.c) and others.
var prefixes = [...]string{"fs-", "crypto-"}

// suffixes are what makes a module of the name that the kernel asks for:
// elevator_get asks for "bfq-iosched" (block/elevator.c), and the crypto API for
// "crypto-crc32c", which the portable crc32c_generic has as an alias.
var suffixes = [...]string{"", "-iosched", "_generic"}

// Alias gives the module of the list that the kernel means when it asks
// modprobe for alias, or "". It knows file systems, crypto algorithms and I/O
// schedulers by their names; the aliases inside the modules would need each of
// them to be unpacked.
func (l List) Alias(alias string) string {
	if algorithm, ok := strings.CutPrefix(alias, "crypto-"); ok {
		// Before the plain name: lib/crc64-rocksoft.c asks for an
		// implementation of itself while it is being loaded.
		if name := l.find(algorithm + "_generic"); name != "" {
			return name
		}
	}
	name := alias
	for _, p := range prefixes {
		name = strings.TrimPrefix(name, p)
	}
	for _, s := range suffixes {
		if found := l.find(name + s); found != "" {
			return found
		}
	}
	return l.find(strings.TrimSuffix(name, "-iosched"))
}

// plain makes one spelling of the two that the kernel and modprobe mix.
func plain(name string) string { return strings.ReplaceAll(name, "-", "_") }

// Loader loads modules of a list.
type Loader struct {
	List  List
	Dir   string // holds the files
	Finit Finit  // nil is finit_module(2)

	Sys     string // "" is /sys
	Cmdline string // the kernel's command line, for "libata.force=noncq"; "" is that of /proc/cmdline
}

// Finit hands a module to the kernel.
type Finit func(file *os.File, params string, flags int) error

// Load loads these modules and what they depend on, and gives the names of
// those that were not loaded before. A driver that finds none of its hardware
// (crc32c_intel on a CPU without the instruction) is passed over; if it mattered,
// what comes next fails and says so.
func (l Loader) Load(names ...string) (loaded []string, err error) {
	for _, m := range l.List.Closure(names...) {
		if l.there(m) {
			continue
		}
		err := l.load(m)
		if errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ENODEV) {
			continue
		}
		if err != nil {
			return loaded, fmt.Errorf("load module %s: %w", m.Name, err)
		}
		loaded = append(loaded, m.Name)
	}
	return loaded, nil
}

// there says whether the kernel has the module already, be it that its init
// still runs: that may be what waits for us, by request_module, and to load the
// module again would wait for it.
func (l Loader) there(m Module) bool {
	sys := l.Sys
	if sys == "" {
		sys = "/sys"
	}
	_, err := os.Stat(filepath.Join(sys, "module", strings.ReplaceAll(m.Name, "-", "_"), "initstate"))
	return err == nil
}

func (l Loader) load(m Module) error {
	f, err := os.Open(filepath.Join(l.Dir, m.File))
	if err != nil {
		return err
	}
	defer f.Close()
	flags := 0
	if !strings.HasSuffix(m.File, ".ko") {
		flags = unix.MODULE_INIT_COMPRESSED_FILE
	}
	finit := l.Finit
	if finit == nil {
		finit = func(f *os.File, params string, flags int) error {
			return unix.FinitModule(int(f.Fd()), params, flags)
		}
	}
	cmdline := l.Cmdline
	if cmdline == "" {
		text, err := os.ReadFile("/proc/cmdline")
		if err != nil {
			return err
		}
		cmdline = string(text)
	}
	err = finit(f, Params(cmdline, m.Name), flags)
	if flags != 0 && (errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP)) {
		return fmt.Errorf("%w (%s is compressed: the kernel needs CONFIG_MODULE_DECOMPRESS and that format)", err, filepath.Base(m.File))
	}
	return err
}

// Params gives what a kernel command line says to a module: the kernel reads
// "libata.force=noncq" itself only for a module that is built in.
func Params(cmdline, module string) string {
	var params []string
	for _, word := range strings.Fields(cmdline) {
		owner, param, ok := strings.Cut(word, ".")
		if ok && !strings.Contains(owner, "=") && plain(owner) == plain(module) {
			params = append(params, param)
		}
	}
	return strings.Join(params, " ")
}
