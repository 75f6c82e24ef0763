package reports

import (
	"strings"

	"spindle/reports/internal/text"
)

// files names what lies beside the report.
func (p *page) files(plots []string) {
	p.heading(2, "Files beside this report")
	where := "samples/"
	if len(p.attempts) > 0 {
		where += ", attempts/"
	}
	items := []string{
		"values.csv: every metric of every sample",
		"manifest.json, plan.yaml: everything needed to do it again",
		where + ": per sample the guest's console, the workload's output and counters over time",
	}
	if len(plots) > 0 {
		items = append([]string{"plots, each also as .png: " + strings.Join(plots, ", ")}, items...)
	}
	for i := range items {
		items[i] = text.Clean(items[i])
	}
	p.list(items)
}
