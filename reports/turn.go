package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"spindle/internal/fault"
	"spindle/reports/record"
)

// turn gives the samples of a source with another axis compared. What were
// the arms become part of the conditions; conditions in which the axis has one
// value only are left out, for there is nothing to compare.
//
// The samples of a block were made on one host in one shuffled stretch, so
// they are pairs still; but they did not run next to each other as arms do,
// and drift within the block is noise here.
func (s source) turn(axis, baseline string) (source, error) {
	out := s
	out.turned = axis
	// From here on every condition is whole, with the arm in it.
	cells := map[record.Cell]record.Cell{}
	var values []string
	arms := map[string]record.Arm{}
	for _, a := range s.manifest.Arms {
		arms[a.Name] = a
	}
	seen := map[record.Condition]map[string]bool{}
	move := func(c record.Cell) error {
		whole := c.Condition
		whole.Setup = c.Arm
		if field := axisOf(&whole, s.manifest.Compare); field != nil {
			*field, whole.Setup = c.Arm, ""
		}
		var value string
		if axis == "kernel" {
			value, whole.Setup = arms[c.Arm].Kernel, settingsOf(arms[c.Arm])
		} else {
			field := axisOf(&whole, axis)
			if field == nil {
				return fault.Planf("report: cannot compare %q: want filesystem, scheduler, drive or kernel", axis)
			}
			value, *field = *field, ""
		}
		if value == "" {
			return fault.Planf("report: the run has no %s to compare", axis)
		}
		if seen[whole] == nil {
			seen[whole] = map[string]bool{}
		}
		seen[whole][value] = true
		if !slices.Contains(values, value) {
			values = append(values, value)
		}
		cells[c] = record.Cell{Arm: value, Condition: whole}
		return nil
	}
	var conditions []record.Condition
	for _, a := range s.manifest.Arms {
		for _, c := range s.manifest.Conditions {
			cell := record.Cell{Arm: a.Name, Condition: c}
			if err := move(cell); err != nil {
				return source{}, err
			}
			if c := cells[cell].Condition; !slices.Contains(conditions, c) {
				conditions = append(conditions, c)
			}
		}
	}
	if baseline != "" {
		i := slices.Index(values, baseline)
		if i < 0 {
			return source{}, fault.Planf("report: the run has no %s %q: it has %s", axis, baseline, strings.Join(values, ", "))
		}
		values = append([]string{baseline}, slices.Delete(values, i, i+1)...)
	}
	conditions = slices.DeleteFunc(conditions, func(c record.Condition) bool { return len(seen[c]) < 2 })
	if len(conditions) == 0 {
		return source{}, fault.Planf("report: the run has one %s in each condition: nothing to compare", axis)
	}
	if !slices.ContainsFunc(conditions, func(c record.Condition) bool { return c.Setup != conditions[0].Setup }) {
		one := conditions[0].Setup
		for i := range conditions {
			conditions[i].Setup = ""
		}
		for from, to := range cells {
			if to.Condition.Setup == one {
				to.Condition.Setup = ""
			}
			cells[from] = to
		}
	}
	return out.moved(values, conditions, cells), nil
}

// moved puts everything of a source where cells says.
func (s source) moved(values []string, conditions []record.Condition, cells map[record.Cell]record.Cell) source {
	out := s
	m := s.manifest
	m.Compare = s.turned
	m.Conditions = conditions
	m.Arms = nil
	for _, v := range values {
		m.Arms = append(m.Arms, record.Arm{Name: v, Kernel: m.Kernels[0].Name})
	}
	m.Blocks = make([][]record.Cell, len(s.manifest.Blocks))
	out.manifest, out.samples, out.attempts, out.places = m, nil, nil, map[spot]place{}
	out.planned = 0
	kept := func(c record.Cell) bool { return slices.Contains(conditions, cells[c].Condition) }
	for i, b := range s.manifest.Blocks {
		for _, c := range b {
			if kept(c) {
				m.Blocks[i] = append(m.Blocks[i], cells[c])
			}
		}
	}
	for _, b := range m.Blocks {
		out.planned += len(b)
	}
	out.planned = min(out.planned, s.planned)
	for _, x := range s.samples {
		if !kept(x.Cell) {
			continue
		}
		to := cells[x.Cell]
		out.places[spot{x.Block, to}] = s.places[spot{x.Block, x.Cell}]
		x.Cell = to
		out.samples = append(out.samples, x)
	}
	for _, x := range s.attempts {
		if kept(x.Cell) {
			x.Cell = cells[x.Cell]
			out.attempts = append(out.attempts, x)
		}
	}
	return out
}

// axisOf gives the field of a condition that an axis is in, or nil.
func axisOf(c *record.Condition, axis string) *string {
	switch axis {
	case "drive":
		return &c.Drive
	case "filesystem":
		return &c.Filesystem
	case "scheduler":
		return &c.Scheduler
	case "workload":
		return &c.Workload
	}
	return nil
}

// settingsOf says what an arm sets beside its kernel; arms that set the same
// give the same text.
func settingsOf(a record.Arm) string {
	var parts []string
	for _, m := range []map[string]string{a.Sysctl, a.Queue, a.Device} {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			parts = append(parts, fmt.Sprintf("%s=%s", k, m[k]))
		}
	}
	parts = append(parts, a.Append)
	parts = append(parts, a.Mkfs...)
	parts = append(parts, a.Mount...)
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}
