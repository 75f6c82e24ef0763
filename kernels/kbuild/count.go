package kbuild

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"spindle/kernels/kconfig"
)

// objects estimates how many objects make will compile, for the person who
// waits: those that the tree's Makefiles name under a configuration, without
// those that are up to date. To have make count them (make -n) would take as
// long as an incremental build. What the Makefiles compute by conditions that
// are not about one symbol is not seen; the estimate is off by a few percent.
//
// Files that only help to make the kernel (its boot code, the vdso, tools) are
// not among them.
func (b build) objects(c kconfig.Config) map[string]bool {
	w := walker{src: b.lane.path("src"), arch: b.spec.Target.SrcDir, config: c, seen: map[string]bool{}}
	w.dir("", "Kbuild", "Makefile")
	w.dir("arch/"+w.arch, "Kbuild", "Makefile")
	f := freshness{obj: b.lane.path("obj"), times: map[string]time.Time{}}
	stale := map[string]bool{}
	for _, o := range w.objects {
		if !f.fresh(o) {
			stale[o] = true
		}
	}
	return stale
}

// walker follows obj-y through a tree
// (Documentation/kbuild/makefiles.rst).
type walker struct {
	src     string
	arch    string // the directory below arch/
	config  kconfig.Config
	seen    map[string]bool
	objects []string // paths of .o files, relative to the object tree
}

var (
	assignment  = regexp.MustCompile(`^\s*([\w./-]+?)-(y|m|objs|\$[({]CONFIG_\w+[)}])\s*[:+]?=\s*(.*)$`)
	conditional = regexp.MustCompile(`^\s*(ifdef|ifndef|ifeq|ifneq)\s+(.*)$`)
	configName  = regexp.MustCompile(`CONFIG_(\w+)`)
)

// lists are those at the top of a kernel's tree whose entries become part of it.
var lists = map[string]bool{"obj": true, "lib": true, "core": true, "drivers": true, "net": true, "libs": true, "virt": true}

func (w *walker) dir(dir string, names ...string) {
	if w.seen[dir] {
		return
	}
	w.seen[dir] = true
	parts := map[string][]string{} // NAME of NAME-y -> entries
	var entries []string
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(w.src, dir, name))
		if err != nil {
			continue
		}
		entries = append(entries, w.read(string(text), parts)...)
		if dir != "" && dir != "arch/"+w.arch {
			break // Kbuild comes before Makefile
		}
	}
	for _, e := range entries {
		e = strings.NewReplacer("$(SRCARCH)", w.arch, "$(src)/", "").Replace(e)
		switch {
		case strings.Contains(e, "$"):
		case strings.HasSuffix(e, "/"):
			next := filepath.Join(dir, e)
			if dir == "arch/"+w.arch && strings.HasPrefix(e, "arch/") {
				next = filepath.Clean(e) // arch/X/Makefile is read at the top
			}
			w.dir(next, "Kbuild", "Makefile")
		case strings.HasSuffix(e, ".o"):
			w.object(dir, strings.TrimSuffix(e, ".o"), parts, 0)
		}
	}
}

// object counts one object, or those that it is linked of.
func (w *walker) object(dir, name string, parts map[string][]string, depth int) {
	if of := parts[name]; len(of) > 0 && depth < 5 {
		for _, e := range of {
			if strings.HasSuffix(e, ".o") && !strings.Contains(e, "$") {
				w.object(dir, strings.TrimSuffix(e, ".o"), parts, depth+1)
			}
		}
		return
	}
	path := filepath.Join(dir, name)
	for _, ext := range []string{".c", ".S"} {
		if _, err := os.Stat(filepath.Join(w.src, path+ext)); err == nil && !w.seen[path+".o"] {
			w.seen[path+".o"] = true
			w.objects = append(w.objects, path+".o")
			return
		}
	}
}

// read takes the entries of a Makefile's lists, and fills what objects are made
// of.
func (w *walker) read(text string, parts map[string][]string) (entries []string) {
	var off []bool  // open conditionals: does their branch not apply
	var told []bool // are they about a symbol; of others both branches are taken
	skip := func() bool {
		for _, o := range off {
			if o {
				return true
			}
		}
		return false
	}
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimRight(line, "\n"), "#")
		word := strings.TrimSpace(line)
		switch {
		case conditional.MatchString(line):
			off = append(off, !w.holds(line))
			told = append(told, configName.MatchString(line))
		case strings.HasPrefix(word, "else") && len(off) > 0:
			off[len(off)-1] = told[len(told)-1] && !off[len(off)-1]
		case strings.HasPrefix(word, "endif") && len(off) > 0:
			off, told = off[:len(off)-1], told[:len(told)-1]
		}
		m := assignment.FindStringSubmatch(line)
		if m == nil || skip() {
			continue
		}
		on := m[2] == "y" || m[2] == "objs"
		if s := configName.FindStringSubmatch(m[2]); s != nil {
			on = w.config.Has(s[1])
		}
		if !on {
			continue
		}
		if lists[m[1]] {
			entries = append(entries, strings.Fields(m[3])...)
		} else {
			parts[m[1]] = append(parts[m[1]], strings.Fields(m[3])...)
		}
	}
	return entries
}

// holds evaluates a conditional about one symbol; others hold.
func (w *walker) holds(line string) bool {
	m := conditional.FindStringSubmatch(line)
	s := configName.FindStringSubmatch(m[2])
	if s == nil {
		return true
	}
	v := w.config.Value(s[1])
	if v == "n" {
		v = ""
	}
	switch m[1] {
	case "ifdef":
		return v != ""
	case "ifndef":
		return v == ""
	}
	_, want, _ := strings.Cut(strings.Trim(strings.TrimSpace(m[2]), "()"), ",")
	equal := v == strings.Trim(strings.TrimSpace(want), `"'()`)
	return equal == (m[1] == "ifeq")
}

// freshness tells objects that are up to date, by the dependencies that the
// compiler wrote down (scripts/basic/fixdep.c).
type freshness struct {
	obj   string
	times map[string]time.Time // of files; zero if there is none
}

func (f freshness) time(path string) time.Time {
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.obj, path)
	}
	t, ok := f.times[path]
	if !ok {
		if info, err := os.Stat(path); err == nil {
			t = info.ModTime()
		}
		f.times[path] = t
	}
	return t
}

func (f freshness) fresh(object string) bool {
	made := f.time(object)
	if made.IsZero() {
		return false
	}
	text, err := os.ReadFile(filepath.Join(f.obj, filepath.Dir(object), "."+filepath.Base(object)+".cmd"))
	if err != nil {
		return false
	}
	source, deps, ok := strings.Cut(string(text), "\ndeps_")
	if !ok {
		return false
	}
	deps, _, _ = strings.Cut(deps, "\n\n") // what follows are rules for make
	// The source stands last in its line, "source_X := PATH".
	files := strings.Fields(source)
	files = append(files[max(0, len(files)-1):], strings.Fields(deps)...)
	for _, d := range files {
		d = strings.TrimSuffix(strings.TrimPrefix(d, "$(wildcard"), ")")
		if strings.Contains(d, "/") && f.time(d).After(made) {
			return false
		}
	}
	return true
}
