package reports

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"spindle/reports/internal/text"
	"spindle/reports/record"
	"spindle/reports/stat"
)

const (
	// cpuBound is the share of busy CPU from which a sample measured the
	// guest's CPUs: what is left may be single-threaded waits.
	cpuBound = 0.80
	// modelError is the mean lateness of the drive model, as a share of the
	// mean service time, from which a row carries a note.
	modelError = 0.05
	// stolen is the share of the host's CPU time that another guest took, from
	// which a row carries a note.
	stolen = 0.02
)

// doubts gives the notes that a row must carry.
func (p *page) doubts(k *comparison) []string {
	return slices.DeleteFunc(p.allDoubts(k), func(s string) bool { return slices.Contains(p.common, s) })
}

// allDoubts are those of a row, also where all rows have them.
func (p *page) allDoubts(k *comparison) []string {
	var out []string
	switch {
	case k.verdict.Kind == stat.Broken:
		// One of each arm; the others are in What broke.
		for _, arm := range []string{k.arm, p.baseline()} {
			if i := slices.IndexFunc(k.broke, func(s record.Sample) bool { return s.Arm == arm }); i >= 0 {
				out = append(out, p.evidence(k.broke[i]))
			}
		}
	case k.verdict.Why == stat.FewPairs: // the row says so
	default:
		switch k.verdict.Why {
		case stat.Chance:
			out = append(out, fmt.Sprintf("undecided: the interval excludes zero, but among %d comparisons some do by chance (false-discovery rate %.0f"+text.NBSP+"%%)", p.family(), 100*fdr))
		case stat.Control:
			out = append(out, "undecided: the baseline compared with itself changed as well")
		case stat.NoSpread:
			out = append(out, "undecided: without any spread there is no noise to judge by")
		}
		out = append(out, k.verdict.Warnings...)
		if k.metric.Primary {
			out = append(out, p.scatter(k)...)
		}
	}
	switch {
	case len(k.broke) == 0 || k.verdict.Kind == stat.Broken:
	case k.noBase:
		out = append(out, p.evidence(k.broke[0]))
	default:
		base := p.cells[record.Cell{Arm: p.baseline(), Condition: k.condition}]
		out = append(out, fmt.Sprintf("the baseline %s; judged by the other %s: %s",
			brokeWhen(base), plural(k.verdict.N, "pair", "pairs"), p.evidence(k.broke[0])))
	}
	return append(out, p.sampleDoubts(k)...)
}

// sampleDoubts are those that come from how the samples were made.
func (p *page) sampleDoubts(k *comparison) []string {
	var out []string
	add := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, arm := range []string{p.baseline(), k.arm} {
		for _, s := range p.cells[record.Cell{Arm: arm, Condition: k.condition}] {
			if isCPUBound(s) && (k.verdict.Kind != stat.Broken || k.verdict.N > 0) {
				add(p.cpuNote())
			}
			if s.Drive.ModelErrorRel > modelError {
				add("the drive model answered late, by more than " + share(modelError) + " of the service time; see How it was measured")
			}
			if s.Host.Steal > stolen && s.Virtual == nil { // in virtual time the host decides nothing
				add("the host was not alone: more than " + share(stolen) + " of its CPU time was stolen")
			}
			if got := s.Settings["scheduler"]; got != "" && k.condition.Scheduler != "" && got != k.condition.Scheduler {
				add(fmt.Sprintf("%s ran with scheduler %s, read back from the guest", text.Clean(arm), text.Clean(got)))
			}
			for _, w := range s.Warnings {
				add(text.Clean(w))
			}
		}
	}
	return out
}

// isCPUBound says whether a workload that ran to its end was held up by the
// guest's CPUs.
func isCPUBound(s record.Sample) bool {
	return s.Outcome.Kind == record.OK && s.CPUBusy >= cpuBound
}

// cpuNote says once for the run how busy the CPUs were.
func (p *page) cpuNote() string {
	low, high := 1.0, 0.0
	for _, s := range p.samples {
		if isCPUBound(s) {
			low, high = min(low, s.CPUBusy), max(high, s.CPUBusy)
		}
	}
	busy := share(high)
	if share(low) != busy {
		busy = strings.TrimSuffix(share(low), text.NBSP+"%") + " to " + busy
	}
	what := "the guest's CPUs"
	if p.manifest.Machine.Accel == "tcg" {
		what = "the emulator"
	}
	return fmt.Sprintf("guest CPU busy %s of the workload: this measured %s, not the disk", busy, what)
}

// general are the doubts that every comparison has that could decide. They are
// said once.
func (p *page) general() []string {
	var out []string
	first := true
	for _, k := range p.comparisons {
		if !counts(k.verdict) {
			continue
		}
		these := p.allDoubts(k)
		if first {
			out, first = these, false
		}
		out = slices.DeleteFunc(out, func(w string) bool { return !slices.Contains(these, w) })
	}
	return out
}

// counts says whether a comparison could claim anything.
func counts(v stat.Verdict) bool {
	return v.Kind != stat.Broken && v.Why != stat.FewPairs && v.Why != stat.FewRanks
}

// family is the number of comparisons that the false-discovery rate is of.
func (a *analysis) family() int {
	n := 0
	for _, k := range a.comparisons {
		if counts(k.verdict) {
			n++
		}
	}
	return n
}

// evidence points to what shows that a sample broke.
func (a *analysis) evidence(s record.Sample) string {
	where := a.places[spot{s.Block, s.Cell}].name
	if s.Outcome.Log != "" {
		where = path.Join(where, text.Clean(s.Outcome.Log))
		if s.Outcome.Line > 0 {
			where += fmt.Sprintf(", line"+text.NBSP+"%d", s.Outcome.Line)
		}
	}
	if d := text.Clean(text.Cut(s.Outcome.Detail, 300)); d != "" {
		where += ": " + d
	}
	return where
}

// brokeHow says in a word or two what happened: "hung", "mkfs failed".
func brokeHow(o record.Outcome) string {
	switch o.Reason {
	case "panic":
		return "panicked"
	case "hang":
		return "hung"
	case "oops":
		return "oopsed"
	case "":
		return "failed"
	}
	return text.Cut(text.Clean(o.Reason), 16) + " failed"
}

// brokeWhen says it for the samples of a cell: "hung in block 2", "panicked in
// 3 of 3", or nothing.
func brokeWhen(cell []record.Sample) string {
	var how string
	var blocks []int
	for _, s := range cell {
		if s.Outcome.Kind != record.OK {
			if how == "" {
				how = brokeHow(s.Outcome)
			}
			blocks = append(blocks, s.Block)
		}
	}
	switch len(blocks) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s in block"+text.NBSP+"%d", how, blocks[0])
	}
	return fmt.Sprintf("%s in %d of %d", how, len(blocks), len(cell))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// scatterLevel is from which p on a change of scatter is worth a remark.
const scatterLevel = 0.02

// scatter says where an arm's boots differ among themselves by far more, or
// far less, than the baseline's: a mean alone would not show that.
func (p *page) scatter(k *comparison) []string {
	base := p.values(record.Cell{Arm: p.baseline(), Condition: k.condition}, k.metric.Name)
	arm := p.values(record.Cell{Arm: k.arm, Condition: k.condition}, k.metric.Name)
	if stat.Scatter(base, arm) > scatterLevel {
		return nil
	}
	a, b := stat.Describe(base).CV, stat.Describe(arm).CV
	word := "more"
	if b < a {
		word = "less"
	}
	return []string{fmt.Sprintf("the arm's boots scatter %s among themselves: CV %s against %s (F test, p"+text.NBSP+"="+text.NBSP+"%s)",
		word, share(b), share(a), digits(stat.Scatter(base, arm), 2))}
}
