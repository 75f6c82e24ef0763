package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"spindle/reports/internal/text"
	"spindle/reports/record"
)

// settingItems says what the guests read back of their settings: first what
// was the same in every sample, then each setting that differs, by what it
// goes with.
func (p *page) settingItems() []string {
	keys := map[string]bool{}
	for _, s := range p.samples {
		for k := range s.Settings {
			keys[k] = true
		}
	}
	var same, items []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		values := p.settingBy(k, func(record.Sample) string { return "" })
		if vs := values[""]; len(vs) == 1 {
			same = append(same, k+text.NBSP+vs[0])
			continue
		}
		items = append(items, keep("setting "+k+": "+p.differs(k)))
	}
	if len(same) > 0 {
		items = append([]string{keep("settings, read back in every guest: " + strings.Join(same, ", "))}, items...)
	}
	return items
}

// settingBy gives the values of a setting for each value of an axis. Samples
// that broke before they read it back do not count.
func (p *page) settingBy(key string, axis func(record.Sample) string) map[string][]string {
	out := map[string][]string{}
	for _, s := range p.samples {
		if len(s.Settings) == 0 {
			continue
		}
		v, ok := s.Settings[key]
		if !ok {
			v = "absent"
		}
		if at := axis(s); !slices.Contains(out[at], v) {
			out[at] = append(out[at], v)
		}
	}
	return out
}

// differs says what a setting's values go with: the first axis that explains
// them all, or how often each was seen.
func (p *page) differs(key string) string {
	axes := []struct {
		name string
		of   func(record.Sample) string
	}{
		{"arm", func(s record.Sample) string { return s.Arm }},
		{"drive", func(s record.Sample) string { return s.Condition.Drive }},
		{"filesystem", func(s record.Sample) string { return s.Condition.Filesystem }},
		{"scheduler", func(s record.Sample) string { return s.Condition.Scheduler }},
		{"workload", func(s record.Sample) string { return s.Condition.Workload }},
		{"arm and filesystem", func(s record.Sample) string { return s.Arm + " " + s.Condition.Filesystem }},
		{"arm and scheduler", func(s record.Sample) string { return s.Arm + " " + s.Condition.Scheduler }},
	}
	for _, x := range axes {
		by := p.settingBy(key, x.of)
		if !explains(by) {
			continue
		}
		echo := true
		var parts []string
		for _, at := range slices.Sorted(maps.Keys(by)) {
			echo = echo && by[at][0] == at
			parts = append(parts, by[at][0]+" ("+at+")")
		}
		if echo {
			return "as the condition says"
		}
		return "by " + x.name + ": " + strings.Join(parts, ", ")
	}
	counts := map[string]int{}
	for _, s := range p.samples {
		if v, ok := s.Settings[key]; ok {
			counts[v]++
		}
	}
	var parts []string
	for _, v := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s in %s", v, plural(counts[v], "sample", "samples")))
	}
	return "varies: " + strings.Join(parts, ", ")
}

// explains says whether each value of an axis goes with one value only.
func explains(by map[string][]string) bool {
	for _, vs := range by {
		if len(vs) != 1 {
			return false
		}
	}
	return len(by) > 1
}
