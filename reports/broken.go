package reports

import (
	"fmt"

	"spindle/reports/internal/text"
	"spindle/reports/record"
	"spindle/reports/stat"
)

// broken lists every sample whose kernel broke.
func (p *page) broken() {
	var items []string
	for _, s := range p.samples {
		if s.Outcome.Kind != record.OK {
			items = append(items, fmt.Sprintf("%s, %s, block"+text.NBSP+"%d: %s%s",
				text.Clean(s.Arm), text.Clean(s.Condition.String()), s.Block, brokeHow(s.Outcome), p.notes.refer([]string{p.evidence(s)})))
		}
	}
	for _, k := range p.comparisons {
		if k.verdict.Kind == stat.Broken && k.metric.Primary && k.verdict.N > 0 {
			items = append(items, fmt.Sprintf("%s, %s, the %s without a break: %s %s",
				text.Clean(k.arm), text.Clean(k.condition.String()), plural(k.verdict.N, "pair", "pairs"), text.Clean(k.metric.Name), change(k.verdict, p.unit(k.condition, k.metric))))
		}
	}
	if len(items) > 0 {
		p.heading(2, "What broke")
		p.list(items)
	}
}

// reading explains the tables.
func (p *page) reading() {
	if len(p.arms()) == 0 {
		return
	}
	p.heading(2, "How to read this")
	p.say("Each sample is a fresh boot of a fresh guest and a fresh mkfs. A block holds one sample of every arm under every condition; " +
		"arms are compared within blocks, by ratio, so that drift of the host cancels.")
	p.list([]string{
		"a ± b: mean of the boots and half of its 95" + text.NBSP + "% interval, drift of the host from block to block included",
		fmt.Sprintf("+10"+text.NBSP+"%% (8,"+text.NBSP+"12): a change and its 95"+text.NBSP+"%% interval (Student's t on the log ratios), "+
			"claimed with a false-discovery rate of %.0f"+text.NBSP+"%% over all comparisons of this run (%d)", 100*fdr, p.family()),
		"none (>" + text.NBSP + "2" + text.NBSP + "% shows): no change; one of 2" + text.NBSP + "% would have been seen with 80" + text.NBSP + "% probability at the noise observed",
		"?: undecided; this run can tell neither a change nor that there is none of 10" + text.NBSP + "% or less; fewer than 3 pairs never can",
	})
}
