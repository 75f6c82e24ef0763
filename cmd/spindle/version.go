package main

import (
	"context"
	"fmt"
	"runtime/debug"
)

func version(_ context.Context, a *app, args []string) error {
	f := a.flags("version")
	if rest, err := f.parse(args); err != nil {
		return err
	} else if len(rest) > 0 {
		return f.wrong("takes no arguments")
	}
	fmt.Fprintln(a.stdout, "spindle", versionString())
	return nil
}

// versionString is the module's version, or the commit it was built from with
// a mark when the tree was dirty: a report names it.
func versionString() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	var rev, dirty string
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			rev = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+dirty"
			}
		}
	}
	if rev == "" {
		return info.Main.Version
	}
	return rev[:min(12, len(rev))] + dirty
}
