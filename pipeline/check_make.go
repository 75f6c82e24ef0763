package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"spindle/internal/debian"
	"spindle/internal/fault"
	"spindle/kernels"
)

// MakeKernels makes the plan's kernels and holds their configurations against
// its conditions: a filesystem that a kernel lacks is told here, before an
// image is built or a guest boots.
//
// It goes on to the last kernel, so that the error, if it is the plan's fault,
// holds the [Problems] of all of them.
func MakeKernels(ctx context.Context, env Env, p *Plan) (map[string]kernels.Artifact, error) {
	return p.makeKernels(ctx, env, func(kernels.Source) bool { return true }, nil)
}

// MakeLocalKernels does as [MakeKernels] for those of [Plan.LocalKernels], and
// asks no archive.
func MakeLocalKernels(ctx context.Context, env Env, p *Plan) (map[string]kernels.Artifact, error) {
	return p.makeKernels(ctx, env, isLocal, nil)
}

// LocalKernels gives the names of the kernels that are files of this host, and
// of those that come from elsewhere, both sorted.
func (p *Plan) LocalKernels() (local, remote []string) {
	for _, name := range sortedKeys(p.Kernels) {
		if isLocal(p.Kernels[name]) {
			local = append(local, name)
		} else {
			remote = append(remote, name)
		}
	}
	return local, remote
}

func isLocal(s kernels.Source) bool { return s.Path != "" }

// makeKernels makes those that are wanted. A kernel that cannot be made by its
// own fault (a patch does not apply, the compiler finds an error) is put into
// broken, with an artifact that says no more than its source. It is an error
// where broken is nil, and for the kernel of the baseline: without that nothing
// can be compared.
func (p *Plan) makeKernels(ctx context.Context, env Env, wanted func(kernels.Source) bool, broken map[string]error) (map[string]kernels.Artifact, error) {
	made := make(map[string]kernels.Artifact, len(p.Kernels))
	s := &source{file: p.source.file, lines: p.source.lines}
	var hints []string
	var ours error // the first failure that is not the plan's
	noArchive := false
	for _, name := range p.buildOrder() {
		from := p.Kernels[name]
		if !wanted(from) || noArchive && from.Deb != "" {
			continue
		}
		e := env.kernels(p)
		e.Name = name
		a, err := kernels.Make(ctx, e, env.place(p, from))
		switch {
		case errors.Is(err, kernels.ErrNotBuilt):
			env.Log.Printf("kernel %s: not built yet: what the plan asks of it is checked when it is", name)
		case err == nil:
			env.Log.Printf("kernel %s: %s", name, a.Source)
			made[name] = a
		case ctx.Err() != nil:
			return nil, fmt.Errorf("kernel %s: %w", name, err)
		case fault.Of(err) == fault.Plan:
			noArchive = p.atKernel(s, name, err) || noArchive
			if h := fault.Hint(err); h != "" && !slices.Contains(hints, h) {
				hints = append(hints, h)
			}
		case fault.Of(err) == fault.Kernel && broken != nil && name != p.Arms[0].Kernel:
			env.Log.Printf("kernel %s: %v", name, err)
			broken[name] = err
			made[name] = kernels.Artifact{Source: from.String(), Version: "none", Arch: cmp.Or(from.Arch, "x86_64")}
		case ours == nil:
			ours = fmt.Errorf("kernel %s: %w", name, err)
		}
	}
	if ours == nil || len(s.problems) > 0 {
		if err := p.checkKernels(s, made); err != nil {
			ours = errors.Join(ours, err)
		}
	}
	switch err := s.err(); {
	case err != nil && ours != nil:
		env.Log.Printf("not all could be checked: %v", ours)
		fallthrough
	case err != nil:
		return nil, &fault.Error{Kind: fault.Plan, Err: err, Hint: strings.Join(hints, "; ")}
	case ours != nil:
		return nil, ours
	}
	return made, nil
}

// buildOrder gives the names of the kernels, sorted, but those with fewer
// patches of a series first: each is then built on top of the one before.
func (p *Plan) buildOrder() []string {
	names := sortedKeys(p.Kernels)
	depth := func(name string) int {
		switch s := p.Kernels[name]; {
		case s.Series == "":
			return 0
		case s.Upto != nil:
			return *s.Upto
		}
		return math.MaxInt
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(depth(a), depth(b)) })
	return names
}

// atKernel gives an error of making a kernel its place in the plan. It says
// whether the archive is at fault, so that no other kernel can come from it.
func (p *Plan) atKernel(s *source, name string, err error) (archive bool) {
	var missing debian.MissingSuites
	if !errors.As(err, &missing) {
		at := p.written(name)
		var file *kernels.Missing
		if errors.As(err, &file) && at.get(file.Key) != nil {
			s.value(at.get(file.Key), "kernel %s: %v", name, err)
			return false
		}
		for _, key := range []string{"deb", "path", "git", "tarball", "tree"} {
			if v := at.get(key); v != nil {
				s.value(v, "kernel %s: %v", name, err)
				return false
			}
		}
		s.entry(at, "kernel %s: %v", name, err)
		return false
	}
	for _, m := range missing {
		message := fmt.Sprintf("suite %s: %v", m.Suite, m)
		at := p.root.get("debian", "suites")
		if at != nil {
			if i := slices.IndexFunc(at.items, func(n *node) bool { return n.text == m.Suite }); i >= 0 {
				s.value(at.items[i], "%s", message)
				continue
			}
		}
		// A suite of the defaults, which a mirror of the plan's does not have.
		key := "mirror"
		if strings.HasSuffix(m.Suite, "-security") {
			key = "security"
		}
		switch mirror := p.root.get("debian", key); {
		case mirror != nil:
			s.value(mirror, "%s", message)
		default:
			s.entry(p.written(name), "kernel %s: %s", name, message)
		}
	}
	return true
}
