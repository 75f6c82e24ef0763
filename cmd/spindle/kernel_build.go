package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"spindle/internal/debian"
	"spindle/internal/fault"
	"spindle/kernels"
)

// sourceFlags reads a kernel's source off the command line: the keys of a plan,
// with paths relative to where we are.
func sourceFlags(f *flags, args []string) (kernels.Source, []string, error) {
	var s kernels.Source
	var config string
	upto := f.Int("upto", -1, "apply the first `N` patches of the series")
	f.StringVar(&s.Deb, "deb", "", "`package` of Debian's, with a kernel or its source: linux-source-6.12")
	f.StringVar(&s.Git, "git", "", "`repository`, by path or URL (default . where --rev is given)")
	f.StringVar(&s.Rev, "rev", "", "`commit`, tag or branch of the repository")
	f.StringVar(&s.Tarball, "tarball", "", "`file` or URL with a kernel's source")
	f.StringVar(&s.SHA256, "sha256", "", "`hash` of the tarball")
	f.StringVar(&s.Tree, "tree", "", "`directory` with a kernel's source, as it is")
	f.StringVar(&s.Series, "series", "", "patches on top: an mbox, a `directory`, a quilt series, or a range A..B")
	f.StringVar(&config, "config", "", "a .config, or `fragments` by name or file, with commas between them")
	f.StringVar(&s.CC, "cc", "", "`compiler` (default gcc)")
	f.StringVar(&s.Arch, "arch", "", "x86_64 or um (default x86_64)")
	rest, err := f.parse(args)
	if err != nil {
		return s, nil, err
	}
	if *upto >= 0 {
		s.Upto = upto
	}
	if config != "" {
		s.Config = strings.Split(config, ",")
	}
	if s.Rev != "" && s.Git == "" {
		s.Git = "."
	}
	if s.Deb+s.Git+s.Tarball+s.Tree == "" {
		return s, nil, f.wrong("wants what the kernel is made of: --deb PACKAGE, --git REPOSITORY --rev REV, --tarball FILE --sha256 HASH, or --tree DIR")
	}
	s = s.Local(absolute)
	if err := s.Validate(); err != nil {
		return s, nil, fault.Planf("kernel: %w", err)
	}
	return s, rest, nil
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// kernelBuild makes a kernel and prints where it is.
func kernelBuild(ctx context.Context, a *app, f *flags, args []string) error {
	out := f.String("o", "", "copy the kernel, its configuration and modules to this `directory`")
	jobs := f.Int("j", 0, "`jobs` at once (default one for each CPU)")
	asJSON := f.Bool("json", false, "for programs")
	s, rest, err := sourceFlags(f, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return f.wrong("takes no arguments besides flags, such as --rev v6.12 --series wbt.mbox")
	}
	env, err := a.kernelEnv(debian.Archive{}, *jobs)
	if err != nil {
		return err
	}
	k, err := kernels.Make(ctx, env, s)
	if err != nil {
		a.evidence(err)
		return err
	}
	where := k.Dir
	if *out != "" {
		if err := k.CopyTo(*out); err != nil {
			return err
		}
		where = *out
	}
	a.log.Clear()
	if *asJSON {
		return writeJSON(a, k)
	}
	a.log.Printf("%s: %s", k.Version, k.Source)
	_, err = fmt.Fprintln(a.stdout, where)
	return err
}

// evidence shows what an error rests on, the hunk that does not fit or what the
// compiler said, before the error itself is told.
func (a *app) evidence(err error) {
	tail := strings.TrimRight(fault.Tail(err), "\n")
	if tail == "" {
		return
	}
	a.log.Clear()
	for line := range strings.Lines(tail) {
		fmt.Fprintf(a.stderr, "    %s\n", strings.TrimRight(line, "\n"))
	}
}

func writeJSON(a *app, v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
