package reports

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"spindle/reports/internal/text"
	"spindle/reports/record"
)

// mistake is something that the plan asks for and no arm that it asks it of
// has. One kernel without a setting is a result; when all lack it, the plan
// has it wrong, and no kernel is to blame. So it is with a workload that fails
// in every arm: a command that is not there, a number that its output lacks.
//
// That can be seen in guests only, since patches bring settings that nobody
// knows.
type mistake struct {
	reason     string // of the outcomes: setting, mount, mkfs or workload
	name       string // of the setting
	filesystem string // that could not be made or mounted
	workload   string // that asks for the setting, or failed; "" for what arms ask for
	arms       []string
	detail     string // of the first outcome
	samples    int
}

// String says it in words.
func (m mistake) String() string {
	if m.workload != "" {
		what := "failed in every arm"
		if m.name != "" {
			what = "wants the setting " + m.name + ", which cannot be had in any arm"
		}
		return fmt.Sprintf("workload %s %s: %s", text.Clean(m.workload), text.Clean(what), text.Clean(text.Cut(m.detail, 300)))
	}
	what := "the setting " + m.name
	if m.filesystem != "" {
		what = fmt.Sprintf("the options of %s for %s", m.reason, m.filesystem)
	}
	return fmt.Sprintf("%s, asked for in %s, cannot be had in any of them: %s",
		text.Clean(what), text.Clean(strings.Join(m.arms, ", ")), text.Clean(text.Cut(m.detail, 300)))
}

// settingName finds the setting in what a guest says of one that it could not
// make: "set vm.nope: this kernel has no ...", `set nr_requests to "0": ...`.
var settingName = regexp.MustCompile(`\bset (\S+?)(:| to )`)

// mistakeOf gives what a sample's failure would be if it were the plan's.
func (a *analysis) mistakeOf(s record.Sample) (mistake, bool) {
	if s.Outcome.Kind == record.OK {
		return mistake{}, false
	}
	m := mistake{reason: s.Outcome.Reason}
	switch m.reason {
	case "setting":
		found := settingName.FindStringSubmatch(s.Outcome.Detail)
		if found == nil {
			return mistake{}, false
		}
		m.name = found[1]
		if !slices.ContainsFunc(a.manifest.Arms, func(arm record.Arm) bool { return a.asks(arm, m) }) {
			m.workload = s.Condition.Workload
		}
	case "workload":
		if len(a.manifest.Arms) < 2 {
			return mistake{}, false // nothing says that another kernel would do better
		}
		if len(s.Drive.Faults) > 0 {
			return mistake{}, false // the drive was to fail, and what a kernel makes of it is the question
		}
		m.workload = s.Condition.Workload
	case "mount", "mkfs":
		m.filesystem = s.Condition.Filesystem
	default:
		return mistake{}, false
	}
	return m, true
}

// asks says whether an arm asks for what a mistake would be about, and only
// the plan could have it wrong: without options of the plan's, a mkfs or mount
// that fails is the kernel's.
func (a *analysis) asks(arm record.Arm, m mistake) bool {
	if m.workload != "" {
		return true
	}
	var fs record.Filesystem
	for _, f := range a.manifest.Filesystems {
		if f.Name == m.filesystem {
			fs = f
		}
	}
	switch m.reason {
	case "mount":
		return len(fs.Mount)+len(arm.Mount) > 0
	case "mkfs":
		return len(fs.Mkfs)+len(arm.Mkfs) > 0
	}
	_, sysctl := arm.Sysctl[m.name]
	_, queue := arm.Queue[m.name]
	_, device := arm.Device[strings.TrimPrefix(m.name, "device/")]
	return sysctl || queue || device
}

// same says whether two failures are about the same thing.
func (m mistake) same(n mistake) bool {
	return m.reason == n.reason && m.name == n.name && m.filesystem == n.filesystem && m.workload == n.workload
}

// findMistakes looks for what every arm that asks for it failed at, and no
// sample of such an arm got past. An arm without a sample might have it yet.
func (a *analysis) findMistakes() []mistake {
	var out []mistake
	for _, s := range a.samples {
		m, ok := a.mistakeOf(s)
		if !ok || slices.ContainsFunc(out, m.same) {
			continue
		}
		m.detail = s.Outcome.Detail
		all := true
		for _, arm := range a.manifest.Arms {
			if !a.asks(arm, m) {
				continue
			}
			m.arms = append(m.arms, arm.Name)
			lacks := 0
			for _, other := range a.samples {
				if other.Arm != arm.Name || m.filesystem != "" && other.Condition.Filesystem != m.filesystem ||
					m.workload != "" && other.Condition.Workload != m.workload {
					continue
				}
				all = all && other.Outcome.Kind != record.OK
				if n, ok := a.mistakeOf(other); ok && m.same(n) {
					lacks++
				}
			}
			m.samples += lacks
			all = all && lacks > 0
		}
		if all && slices.Contains(m.arms, s.Arm) {
			out = append(out, m)
		}
	}
	return out
}

// mistaken says whether a sample failed for a mistake of the plan.
func (a *analysis) mistaken(s record.Sample) bool {
	m, ok := a.mistakeOf(s)
	return ok && slices.ContainsFunc(a.mistakes, m.same)
}
