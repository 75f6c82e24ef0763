package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"spindle/kernels"
)

// CheckKernels holds the plan's conditions against the kernels of its arms,
// by name: a filesystem, scheduler or bus that one of them was configured
// without, or whose module did not come with it, is a problem of the plan,
// at the entry that asks for it. A kernel whose configuration is not known
// passes.
//
// The error is the plan's fault ([fault.Plan]) and holds [Problems], as that
// of [Load]; a configuration that cannot be read is the machinery's.
func (p *Plan) CheckKernels(made map[string]kernels.Artifact) error {
	s := &source{file: p.source.file, lines: p.source.lines}
	for _, name := range p.kernelsUsed() {
		if _, ok := made[name]; !ok {
			return fmt.Errorf("check kernel %s: it was not made", name)
		}
	}
	if err := p.checkKernels(s, made); err != nil {
		return err
	}
	return s.err()
}

// checkKernels does so for those that were made.
func (p *Plan) checkKernels(s *source, made map[string]kernels.Artifact) error {
	for _, name := range p.kernelsUsed() {
		a, ok := made[name]
		if !ok {
			continue
		}
		guest, err := a.Lacks(kernels.Need{})
		if err != nil {
			return fmt.Errorf("check kernel %s: %w", name, err)
		}
		if len(guest) > 0 {
			s.entry(p.written(name), "kernel %s (%s) cannot carry a guest: %s", name, a.Source, strings.Join(guest, "; "))
		}
		for _, d := range p.demands() {
			lacks, err := a.Lacks(d.need)
			if err != nil {
				return fmt.Errorf("check kernel %s: %w", name, err)
			}
			lacks = slices.DeleteFunc(lacks, func(l string) bool { return slices.Contains(guest, l) })
			if len(lacks) > 0 {
				s.value(d.at, "kernel %s (%s) lacks %s%s", name, a.Source, strings.Join(lacks, "; "), formerly(d.need.Scheduler))
			}
		}
	}
	p.checkQueueFiles(s, made)
	return nil
}

// checkQueueFiles holds the queue files of the arms against the versions of
// their kernels, where these are Debian's: others may have patches.
func (p *Plan) checkQueueFiles(s *source, made map[string]kernels.Artifact) {
	for _, arm := range p.Arms {
		a, ok := made[arm.Kernel]
		if !ok || p.Kernels[arm.Kernel].Deb == "" {
			continue
		}
		lacks := lacksQueueFiles(arm.Queue, a.Version)
		for _, key := range sortedKeys(lacks) {
			s.entry(p.root.get("arms", arm.Name, "queue", key), "kernel %s (%s): %s", arm.Kernel, a.Source, lacks[key])
		}
	}
}

// demand is one entry of the plan that asks something of a kernel.
type demand struct {
	at   *node
	need kernels.Need
}

func (p *Plan) demands() []demand {
	var ds []demand
	c := p.root.get("conditions")
	for i, f := range p.Conditions.Filesystem {
		ds = append(ds, demand{c.get("filesystem").item(i), kernels.Need{Filesystem: f}})
	}
	for i, s := range p.Conditions.Scheduler {
		ds = append(ds, demand{c.get("scheduler").item(i), kernels.Need{Scheduler: s}})
	}
	for _, d := range p.Conditions.Drive {
		at := p.root.get("drives", d, "bus")
		if at == nil {
			at = p.root.get("drives", d)
		}
		ds = append(ds, demand{at, p.needOfDrive(d)})
	}
	return ds
}

// kernelsUsed gives the kernels that arms name, each once, in their order.
func (p *Plan) kernelsUsed() []string {
	var names []string
	for _, a := range p.Arms {
		if !slices.Contains(names, a.Kernel) {
			names = append(names, a.Kernel)
		}
	}
	return names
}
