package main

import (
	"fmt"
	"io"
	"path/filepath"

	"spindle/workloads"
	"spindle/workloads/kmod"
)

// guestLoader loads modules once the root was changed.
func guestLoader() (kmod.Loader, error) {
	list, err := kmod.Read(filepath.Join(workloads.GuestDir, workloads.ModuleList))
	return kmod.Loader{List: list, Dir: filepath.Join(workloads.GuestDir, workloads.ModuleDir)}, err
}

// load loads modules for a person at a shell, who should be told what there is.
func load(names []string, out io.Writer) error {
	l, err := guestLoader()
	if err != nil {
		return err
	}
	for _, name := range names {
		if !l.List.Has(name) {
			return fmt.Errorf("load module %s: not in the guest; it is built in, or the host left it out", name)
		}
	}
	loaded, err := l.Load(names...)
	for _, name := range loaded {
		fmt.Fprintln(out, name)
	}
	return err
}

// modprobe answers the kernel's request_module, which calls "modprobe -q -- NAME".
// The kernel asks for many names that no module has; it takes the exit status
// for an answer.
func modprobe(alias string) error {
	l, err := guestLoader()
	if err != nil {
		return err
	}
	name := l.List.Alias(alias)
	if name == "" {
		return fmt.Errorf("no module %s", alias)
	}
	_, err = l.Load(name)
	return err
}
