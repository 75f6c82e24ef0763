package workloads

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"spindle/internal/fault"
	"spindle/internal/proc"
)

// groupName is the control group that the workload gets.
const groupName = "spindle"

// blkioMount is where the controller of version 1 is mounted. Version 2 is
// mounted when a guest boots; a controller is in one of the two only, so blkio
// goes away from there.
const blkioMount = "/run/spindle/blkio"

// enterGroup makes the control group and its settings. The controller is there
// also where the workload stays in the root group.
func (r *run) enterGroup() ([]knob, error) {
	c := r.set.Cgroup
	if c == nil {
		return nil, nil
	}
	refuse := func(err error) error { return &fault.Error{Kind: fault.Kernel, Reason: "setting", Err: err} }
	root := r.sys.path("sys/fs/cgroup")
	if c.version() == 1 {
		root = r.sys.path(blkioMount)
		if err := os.MkdirAll(root, 0o755); err != nil {
			return nil, err
		}
		if err := r.sys.MountBlkio(root); err != nil {
			return nil, refuse(fmt.Errorf("set cgroup: this kernel has no blkio controller of version 1: %w", err))
		}
	} else {
		control := filepath.Join(root, "cgroup.subtree_control")
		if err := os.WriteFile(control, []byte("+io"), 0); err != nil {
			return nil, refuse(fmt.Errorf("set cgroup: this kernel has no io controller of version 2: %w", err))
		}
	}
	if c.Group == "root" {
		return nil, nil
	}
	r.group = filepath.Join(root, groupName)
	if err := os.Mkdir(r.group, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, refuse(fmt.Errorf("set cgroup: %w", err))
	}
	dev, _ := r.drive.Read("dev")
	var ks []knob
	for _, k := range sortedKeys(c.Settings) {
		ks = append(ks, knob{"cgroup/" + k, filepath.Join(r.group, k), strings.ReplaceAll(c.Settings[k], "$DEV", dev)})
	}
	return ks, apply(ks)
}

// describeGroup says for the report where the workload runs.
func (r *run) describeGroup() (string, bool) {
	c := r.set.Cgroup
	switch {
	case c == nil:
		return "", false
	case c.Group == "root":
		return fmt.Sprintf("v%d root", c.version()), true
	}
	return fmt.Sprintf("v%d /%s", c.version(), groupName), true
}

// grouped has a program start in the workload's control group.
func (r *run) grouped(c proc.Cmd) proc.Cmd {
	if r.group == "" {
		return c
	}
	self := r.sys.Self
	c.Args = append(append(slices.Clone(self[1:]), groupRole, r.group, c.Path), c.Args...)
	c.Path = self[0]
	return c
}

// mountBlkio mounts the blkio controller of version 1.
func mountBlkio(dir string) error { return unix.Mount("cgroup", dir, "cgroup", 0, "blkio") }
