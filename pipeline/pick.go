package pipeline

import (
	"slices"
	"strings"

	"spindle/internal/fault"
	"spindle/reports/record"
)

// Pick finds one cell of the plan. Arm is its name, "" the first. Condition
// is words that must all be in the condition, in any order ("xfs bfq"); the
// first condition in the plan's order that has them is taken.
func (p *Plan) Pick(arm, condition string) (record.Cell, error) {
	if arm == "" {
		arm = p.Arms[0].Name
	}
	if p.Arm(arm) == nil {
		var names []string
		for _, a := range p.Arms {
			names = append(names, a.Name)
		}
		return record.Cell{}, fault.Planf("pick arm %s: the plan has %s", quote(arm), strings.Join(names, ", "))
	}
	grid := p.Grid()
	for _, c := range grid {
		axes := []string{c.Drive, c.Filesystem, c.Scheduler, c.Workload}
		if !slices.ContainsFunc(strings.Fields(condition), func(w string) bool { return !slices.Contains(axes, w) }) {
			return record.Cell{Arm: arm, Condition: c}, nil
		}
	}
	var all []string
	for _, c := range grid {
		all = append(all, "  "+c.String())
	}
	return record.Cell{}, fault.Planf("pick condition %s: no condition has all these words; there are\n%s", quote(condition), strings.Join(all, "\n"))
}
