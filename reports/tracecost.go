package reports

import (
	"slices"

	"spindle/reports/internal/text"
	"spindle/reports/record"
	"spindle/reports/stat"
)

// tracing tells what tracing cost: a traced workload against the same one without,
// in the same blocks. It is a figure to read the others by, and no verdict on an
// arm.
func (p *page) tracing(g group) {
	bare := g.workload.Untraced
	if bare == "" {
		return
	}
	ms := p.metrics(g.conditions[0])
	if len(ms) == 0 {
		return
	}
	m := ms[0]
	unit := p.unit(g.conditions[0], m)
	t := p.asideTable(g, "untraced", "traced", "cost")
	for _, c := range g.conditions {
		plain := c
		plain.Workload = bare
		for _, arm := range p.manifest.Arms {
			without, with := p.cells[record.Cell{Arm: arm.Name, Condition: plain}], p.cells[record.Cell{Arm: arm.Name, Condition: c}]
			var pairs []stat.Pair
			for _, b := range without {
				i := slices.IndexFunc(with, func(s record.Sample) bool { return s.Block == b.Block })
				if i < 0 {
					continue
				}
				pair := stat.Pair{Block: b.Block}
				var ok1, ok2 bool
				pair.Base, pair.BaseKnown, ok1 = measured(b, m.Name)
				pair.Arm, pair.ArmKnown, ok2 = measured(with[i], m.Name)
				if ok1 && ok2 {
					pairs = append(pairs, pair)
				}
			}
			if len(pairs) == 0 {
				continue
			}
			v := p.statMetric(m).Compare(pairs)
			t.add(c, arm.Name, meanOnly(p.describe(arm.Name, plain, m), unit), meanOnly(p.describe(arm.Name, c, m), unit), change(v, unit))
		}
	}
	if len(t.rows) == 0 {
		return
	}
	p.heading(3, "What tracing cost")
	p.say("%s without (%s) and with it, and the change within blocks, with its 95"+text.NBSP+"%% interval.", capital(p.caption(g, m)), text.Clean(bare))
	t.write()
}
