package pipeline

import (
	"slices"

	"spindle/reports/record"
)

// AddControl adds an arm that is the baseline once more, called "NAME again".
// Whatever differs between the two is no change of a kernel; where they differ
// by more than chance, the run cannot be believed. Its price is a boot in
// every condition of every block.
func (p *Plan) AddControl() {
	if p.control != "" {
		return
	}
	again := p.Arms[0]
	again.Name += " again"
	for p.Arm(again.Name) != nil {
		again.Name += " again"
	}
	p.Arms = append(slices.Clone(p.Arms), again)
	p.control = again.Name
}

// restore does what the command line of a run did to its plan.
func (p *Plan) restore(m record.Manifest) {
	for _, a := range m.Arms {
		if a.Control {
			p.AddControl()
		}
	}
	pin(p, m)
}
