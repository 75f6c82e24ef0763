package reports

import (
	"fmt"
	"strings"

	"spindle/reports/internal/text"
	"spindle/reports/record"
)

// isInterrupted tells an attempt that someone stopped from one that failed.
func isInterrupted(a record.Attempt) bool { return strings.HasPrefix(a.Reason, "interrupted") }

// uncounted names the attempts by kind, "1 failure of our own machinery and 2
// interrupted attempts", or gives nothing.
func (a *analysis) uncounted() (what string, failed, interrupted int) {
	for _, x := range a.attempts {
		if isInterrupted(x) {
			interrupted++
		} else {
			failed++
		}
	}
	var parts []string
	if failed > 0 {
		parts = append(parts, plural(failed, "failure", "failures")+" of our own machinery")
	}
	if interrupted > 0 {
		parts = append(parts, plural(interrupted, "interrupted attempt", "interrupted attempts"))
	}
	return strings.Join(parts, " and "), failed, interrupted
}

// attemptsThatDoNotCount lists the attempts that gave no sample.
func (p *page) attemptsThatDoNotCount() {
	what, failed, interrupted := p.uncounted()
	if what == "" {
		return
	}
	p.heading(2, "Attempts that do not count")
	switch {
	case interrupted == 0:
		p.say("These failed in our own machinery and say nothing of the kernel.")
	case failed == 0:
		p.say("These were interrupted before the sample was done and say nothing of the kernel.")
	default:
		p.say("%s; they say nothing of the kernel.", what)
	}
	var items []string
	for _, a := range p.attempts {
		items = append(items, fmt.Sprintf("%s, %s, block"+text.NBSP+"%d, attempt"+text.NBSP+"%d: %s",
			text.Clean(a.Arm), text.Clean(a.Condition.String()), a.Block, a.Attempt, text.Clean(text.Cut(a.Reason, 300))))
	}
	p.list(items)
}
