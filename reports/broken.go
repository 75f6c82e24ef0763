package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"spindle/reports/internal/text"
	"spindle/reports/record"
	"spindle/reports/stat"
)

// broken lists every sample whose kernel broke.
func (p *page) broken() {
	var all []record.Sample
	for _, s := range p.samples {
		if s.Outcome.Kind != record.OK {
			p.notes.refer([]string{p.evidence(s)})
			all = append(all, s)
		}
	}
	// In the order of their notes, of which the tables above have numbered some.
	slices.SortStableFunc(all, func(a, b record.Sample) int {
		return cmp.Compare(p.notes.number[p.evidence(a)], p.notes.number[p.evidence(b)])
	})
	var items []string
	for _, s := range all {
		items = append(items, fmt.Sprintf("%s, %s, block"+text.NBSP+"%d: %s%s",
			text.Clean(s.Arm), text.Clean(s.Condition.String()), s.Block, brokeHow(s.Outcome), p.notes.refer([]string{p.evidence(s)})))
	}
	items = append(items, p.breakRates()...)
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

// breakRates says of every cell that broke in how many boots it did, and how
// often it may do so; against the baseline where there is one.
func (p *page) breakRates() []string {
	var out []string
	for _, c := range p.manifest.Conditions {
		base := p.breakRate(record.Cell{Arm: p.baseline(), Condition: c})
		for _, arm := range p.manifest.Arms {
			r := p.breakRate(record.Cell{Arm: arm.Name, Condition: c})
			if r.Hits == 0 || r.Of < 2 {
				continue
			}
			low, high := r.Interval()
			s := fmt.Sprintf("%s, %s: breaks in %d of %d boots, so in %s to %s of boots (95"+text.NBSP+"%% interval)",
				text.Clean(arm.Name), text.Clean(c.String()), r.Hits, r.Of, share(low), share(high))
			if arm.Name != p.baseline() && base.Of > 0 {
				s += fmt.Sprintf("; the baseline in %d of %d, p"+text.NBSP+"="+text.NBSP+"%s (Fisher)", base.Hits, base.Of, digits(r.Differs(base), 2))
			}
			out = append(out, s)
		}
	}
	return out
}

func (p *page) breakRate(cell record.Cell) stat.Rate {
	r := stat.Rate{Of: len(p.cells[cell])}
	for _, s := range p.cells[cell] {
		if s.Outcome.Kind != record.OK {
			r.Hits++
		}
	}
	return r
}

// reading explains the tables.
func (p *page) reading() {
	if len(p.arms()) == 0 {
		return
	}
	p.heading(2, "How to read this")
	cancels, included := "so that drift of the host cancels", "drift of the host from block to block included"
	if p.virtual() {
		cancels = "so that what a block's seeds do to all arms alike cancels: every block has seeds of its own, and its samples share them"
		included = "the difference that the blocks' seeds make included"
	}
	p.say("Each sample is a fresh boot of a fresh guest and a fresh mkfs. A block holds one sample of every arm under every condition; "+
		"arms are compared within blocks, by ratio, %s.", cancels)
	items := []string{
		"a ± b: mean of the boots and half of its 95" + text.NBSP + "% interval, " + included,
		fmt.Sprintf("+10"+text.NBSP+"%% (8,"+text.NBSP+"12): a change and its 95"+text.NBSP+"%% interval (Student's t on logarithms: in pairs, or as two samples where blocks are not seen to matter), "+
			"claimed with a false-discovery rate of %.0f"+text.NBSP+"%% over all comparisons of this run (%d)", 100*fdr, p.family()),
		"none (>" + text.NBSP + "2" + text.NBSP + "% shows): no change; one of 2" + text.NBSP + "% would have been seen with 80" + text.NBSP + "% probability at the noise observed",
		"tails (max, p99 and higher) are compared by signed ranks, whose interval needs 6 pairs; a block that stands apart, or a run stopped at its limit, makes it ranks too",
		"?: undecided; this run can tell neither a change nor that there is none of 10" + text.NBSP + "% or less; fewer than 3 pairs never can",
	}
	if auto := p.manifest.Auto; auto != nil {
		looks := stat.Auto{Most: auto.Most}.Looks()
		items = append(items, fmt.Sprintf("this run may stop at %s (after %s blocks), so each interval is one of %s"+text.NBSP+"%%: all of them together hold with 95"+text.NBSP+"%%",
			plural(len(looks), "look", "looks"), strings.Trim(strings.Join(strings.Fields(fmt.Sprint(looks)), ", "), "[]"), digits(100-5/float64(len(looks)), 4)))
	}
	p.list(items)
}
