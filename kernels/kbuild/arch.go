package kbuild

import (
	"fmt"
	"slices"
	"strings"
)

// Target is an architecture to build for: all that differs between them.
type Target struct {
	Name   string   // as a plan says it
	Make   []string // variables of make
	Goal   string   // what make builds
	Image  string   // what it leaves, in the object tree
	SrcDir string   // the directory under arch/ that has the code
}

var targets = []Target{
	{Name: "x86_64", Make: []string{"ARCH=x86_64"}, Goal: "bzImage", Image: "arch/x86/boot/bzImage", SrcDir: "x86"},
	{Name: "um", Make: []string{"ARCH=um", "SUBARCH=x86_64"}, Goal: "linux", Image: "linux", SrcDir: "um"},
}

// Arch finds an architecture; "" is x86_64.
func Arch(name string) (Target, error) {
	if name == "" {
		name = targets[0].Name
	}
	i := slices.IndexFunc(targets, func(t Target) bool { return t.Name == name })
	if i < 0 {
		var names []string
		for _, t := range targets {
			names = append(names, t.Name)
		}
		return Target{}, fmt.Errorf("%s is not known; there are %s", name, strings.Join(names, " and "))
	}
	return targets[i], nil
}
