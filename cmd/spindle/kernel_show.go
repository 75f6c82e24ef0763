package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"spindle/internal/fault"
	"spindle/kernels"
)

// kernelShow tells of one kernel all that is known.
func kernelShow(ctx context.Context, a *app, f *flags, args []string) error {
	asJSON := f.Bool("json", false, "for programs")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return f.wrong("wants a kernel: the beginning of its hash, as spindle kernel list prints it")
	}
	all, err := a.made()
	if err != nil {
		return err
	}
	var found []kernels.Artifact
	for _, k := range all {
		if strings.HasPrefix(k.Hash, rest[0]) {
			found = append(found, k)
		}
	}
	switch {
	case len(found) == 0:
		return &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("show kernel %s: there is none whose hash begins so", rest[0]), Hint: "spindle kernel list prints them"}
	case len(found) > 1 && found[0].Hash != found[len(found)-1].Hash:
		return fault.Planf("show kernel %s: the hashes of %d kernels begin so", rest[0], len(found))
	}
	if *asJSON {
		return writeJSON(a, found[0])
	}
	return writeKernel(a.stdout, found[0])
}

func writeKernel(w io.Writer, k kernels.Artifact) error {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s%s\n", name, fmt.Sprintf(format, args...))
	}
	row("kernel", "%s", k.Version)
	row("hash", "%s", k.Hash)
	row("source", "%s", k.Source)
	row("files", "%s", k.Dir)
	row("boots", "%s", k.Boot)
	if k.Config != "" {
		row("config", "%s", k.Config)
	}
	if k.Modules != "" {
		row("modules", "%s", k.ModuleDir())
	}
	if k.Build != nil {
		writeBuild(row, *k.Build)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeBuild(row func(name, format string, args ...any), b kernels.Build) {
	row("tree", "%s", b.Tree)
	row("commit", "%s", b.Commit)
	row("base", "%s", b.Base)
	for i, p := range b.Patches {
		row("patch", "%d. %s (%.12s)", i+1, p.Subject, p.Commit)
	}
	for _, p := range b.Own {
		row("spindle's", "%s (%.12s)", p.Subject, p.Commit)
	}
	if b.Dirty {
		row("dirty", "the working tree had changes: dirty.diff")
	}
	row("arch", "%s", b.Arch)
	row("compiler", "%s", b.Compiler)
	row("from", "%s", strings.Join(b.Parts, ", "))
	if len(b.Absent) > 0 {
		row("absent", "%s", strings.Join(b.Absent, ", "))
	}
	for _, u := range b.Unmet {
		row("unmet", "%s", u)
	}
	for _, f := range b.Flags {
		row("flag", "%s", f)
	}
	for _, n := range b.Notes {
		row("note", "%s", n)
	}
}
