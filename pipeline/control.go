package pipeline

import (
	"maps"
	"slices"
	"strings"

	"spindle/internal/fault"
	"spindle/reports/record"
)

// AddControl adds an arm that is the baseline once more, called "NAME again".
// Whatever differs between the two is no change of a kernel; where they differ
// by more than chance, the run cannot be believed. Its price is a boot in
// every condition of every block.
//
// In virtual time a kernel against itself is equal to the last digit, which tells
// nothing. The arm then has a second build of the same source, which differs in
// nothing that matters ([kernels.Source.Again]); its price is also that build, and
// a kernel that is no source code is a fault of the plan.
func (p *Plan) AddControl() error {
	if p.control != "" {
		return nil
	}
	again := p.Arms[0]
	again.Name += " again"
	for p.Arm(again.Name) != nil {
		again.Name += " again"
	}
	if p.Virtual() {
		source, ok := p.Kernels[again.Kernel].Again()
		if !ok {
			return fault.Planf("%s: kernel %s is built already: in virtual time it is equal to itself, so that an A/A wants a second build: give its source (deb: linux-source-6.12, git:, tarball: or tree:)", p.File, again.Kernel)
		}
		for has := true; has; _, has = p.Kernels[again.Kernel] {
			again.Kernel += " again"
		}
		p.Kernels = maps.Clone(p.Kernels)
		p.Kernels[again.Kernel] = source
	}
	p.Arms = append(slices.Clone(p.Arms), again)
	p.control = again.Name
	return nil
}

// written gives a kernel's entry in the plan file; for the second build of one,
// the entry of that.
func (p *Plan) written(kernel string) *node {
	for {
		n := p.root.get("kernels", kernel)
		first, second := strings.CutSuffix(kernel, " again")
		if n != nil || !second {
			return n
		}
		kernel = first
	}
}

// restore does what the command line of a run did to its plan.
func (p *Plan) restore(m record.Manifest) error {
	for _, a := range m.Arms {
		if a.Control {
			if err := p.AddControl(); err != nil {
				return err
			}
		}
	}
	pin(p, m)
	return nil
}
