// Package blockdev finds a guest's drives by their serial numbers and tells what
// the kernel made of them: driver, queue attributes, writeback throttling.
//
// Names such as sda are given out in the order of probing and mean nothing from
// one boot to the next; the serial is what the host gave QEMU. Paths are below
// directories that the caller names, so that tests can bring their own.
package blockdev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"spindle/internal/blockid"
)

// Drive is one block device of this machine.
type Drive struct {
	Name string // sda
	Sys  string // where sysfs is mounted: /sys
	Node string // /dev/sda
}

// Find waits until a drive with that serial is there and its device node too.
// Probing goes on after a driver was loaded: links come up, disks spin up.
// When ctx ends first, the error names the serials that were there.
func Find(ctx context.Context, sys, dev, serial string) (Drive, error) {
	if serial == "" {
		return Drive{}, errors.New("find drive: no serial given")
	}
	for {
		all := Serials(sys)
		for name, s := range all {
			if s != serial {
				continue
			}
			d := Drive{Name: name, Sys: sys, Node: filepath.Join(dev, name)}
			if _, err := os.Stat(d.Node); err == nil {
				return d, nil
			}
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return Drive{}, fmt.Errorf("find drive with serial %s: %w; there are %s", serial, context.Cause(ctx), list(all))
		}
	}
}

func list(serials map[string]string) string {
	if len(serials) == 0 {
		return "no drives (is the driver of the bus loaded?)"
	}
	var out []string
	for name, s := range serials {
		out = append(out, fmt.Sprintf("%s (serial %q)", name, s))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// Serials gives the serial of every block device that has one, by name.
func Serials(sys string) map[string]string {
	out := make(map[string]string)
	entries, err := os.ReadDir(filepath.Join(sys, "block"))
	if err != nil {
		return out
	}
	for _, e := range entries {
		if s := blockid.Serial(filepath.Join(sys, "block", e.Name())); s != "" {
			out[e.Name()] = s
		}
	}
	return out
}
