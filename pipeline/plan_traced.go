package pipeline

import (
	"encoding/json"
	"slices"

	"spindle/workloads"
)

// untraced puts beside each workload that is traced the same one without tracing,
// unless the plan has it, so that what tracing costs is in the report. Its name
// is the traced one's with "-untraced" behind it.
func (p *Plan) untraced() {
	list := p.root.get("workloads")
	for i := 0; i < len(p.Workloads); i++ {
		w := p.Workloads[i]
		if w.Settings == nil || len(w.Settings.Trace) == 0 || p.twin(w) != "" {
			continue
		}
		twin := withoutTrace(w)
		twin.Name = w.Slug() + "-untraced"
		if _, taken := p.Workload(twin.Name); taken {
			continue // of another workload; the plan knows what it does
		}
		p.Workloads = slices.Insert(slices.Clone(p.Workloads), i, twin)
		if item := list.item(i); item != nil { // they have the same place
			list.items = slices.Insert(slices.Clone(list.items), i, item)
		}
		i++
	}
}

// twin gives the name of the workload that is w without tracing; "" if there is
// none.
func (p *Plan) twin(w workloads.Spec) string {
	want := fingerprint(withoutTrace(w))
	for _, o := range p.Workloads {
		if (o.Settings == nil || len(o.Settings.Trace) == 0) && fingerprint(o) == want {
			return o.Slug()
		}
	}
	return ""
}

func withoutTrace(w workloads.Spec) workloads.Spec {
	if w.Settings != nil {
		s := *w.Settings
		s.Trace = nil
		w.Settings = &s
	}
	return w
}

// fingerprint is all that a workload does, without its name. No settings are the
// same as empty ones.
func fingerprint(w workloads.Spec) string {
	w.Name = ""
	if w.Settings == nil {
		w.Settings = &workloads.Settings{}
	}
	text, err := json.Marshal(w)
	if err != nil {
		return err.Error() // it holds nothing that JSON has not
	}
	return string(text)
}
