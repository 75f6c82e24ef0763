package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"spindle/internal/debian"
	"spindle/internal/store"
	"spindle/kernels"
)

// kernelWords are the words behind spindle kernel.
var kernelWords = []struct {
	name, args, short string
	run               func(ctx context.Context, a *app, f *flags, args []string) error
}{
	{"build", "--deb PACKAGE | --git REPO --rev REV | --tarball FILE --sha256 HASH | --tree DIR [--series S] [-o DIR]",
		"make a kernel from source code and patches, or take it from a package, and print where it is", kernelBuild},
	{"fetch", "--deb PACKAGE | --git REPO --rev REV | --tarball FILE --sha256 HASH",
		"bring a package or source code here, so that a build needs no network; builds nothing", kernelFetch},
	{"list", "", "print the kernels that are made: hash, version and source, one a line", kernelList},
	{"show", "[--json] HASH", "print all that is known of one kernel: files, configuration, patches, compiler", kernelShow},
	{"gc", "[-n] [-unused TIME] [RUN...]", "remove from the cache the kernels, repositories and object trees that no run refers to and nobody uses", kernelGC},
}

// kernel is the verbs about kernels alone, without a plan.
func kernel(ctx context.Context, a *app, args []string) error {
	f := a.flags("kernel")
	var names []string
	for _, w := range kernelWords {
		if len(args) > 0 && args[0] == w.name {
			f.v = verb{name: "kernel " + w.name, args: w.args, short: w.short}
			return w.run(ctx, a, f, args[1:])
		}
		names = append(names, w.name)
	}
	rest, err := f.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(a.stdout)
		for _, w := range kernelWords {
			fmt.Fprintf(a.stdout, "  spindle kernel %s\n        %s\n", strings.TrimSpace(w.name+" "+w.args), w.short)
		}
	}
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return f.wrong("wants %s, not %s", either(names), rest[0])
	}
	return f.wrong("wants %s", either(names))
}

// either writes "a, b or c".
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// kernelEnv is what making a kernel takes of this host.
func (a *app) kernelEnv(mirror debian.Archive, jobs int) (kernels.Env, error) {
	cache, err := a.cacheDir()
	if err != nil {
		return kernels.Env{}, err
	}
	st, err := store.Open(filepath.Join(cache, "store"))
	if err != nil {
		return kernels.Env{}, err
	}
	return kernels.Env{
		Store: st, Archive: mirror, AptDir: filepath.Join(cache, "apt"), Dir: filepath.Join(cache, "kernels"), Jobs: jobs, Log: a.log,
	}, nil
}

// made gives the kernels in the store, sorted by version and then by source.
func (a *app) made() ([]kernels.Artifact, error) {
	env, err := a.kernelEnv(debian.Archive{}, 0)
	if err != nil {
		return nil, err
	}
	all, err := kernels.List(env.Store)
	slices.SortStableFunc(all, func(x, y kernels.Artifact) int {
		if c := debian.Compare(x.Version, y.Version); c != 0 {
			return c
		}
		return strings.Compare(x.Source, y.Source)
	})
	return all, err
}

// kernelList prints the kernels that are made, one a line.
func kernelList(ctx context.Context, a *app, f *flags, args []string) error {
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return f.wrong("takes no arguments")
	}
	all, err := a.made()
	if err != nil {
		return err
	}
	for _, k := range all {
		if _, err := fmt.Fprintf(a.stdout, "%.12s  %s  %s\n", k.Hash, k.Version, k.Source); err != nil {
			return err
		}
	}
	return nil
}

// kernelFetch brings source code or a package here, so that a build needs no
// network.
func kernelFetch(ctx context.Context, a *app, f *flags, args []string) error {
	s, rest, err := sourceFlags(f, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return f.wrong("takes no arguments besides flags")
	}
	env, err := a.kernelEnv(debian.Archive{}, 0)
	if err != nil {
		return err
	}
	name, err := kernels.Fetch(ctx, env, s)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, name)
	return err
}
