package reports

import "spindle/reports/record"

// sameAgain says whether two runs in virtual time have one seed, and the same
// values to the last digit in all samples that are picked. Such a run was
// bound to come out as it did: it measures nothing a second time.
func sameAgain(a, b *analysis, pick func(record.Cell) bool) bool {
	if !a.virtual() || !b.virtual() || a.manifest.Seed != b.manifest.Seed {
		return false
	}
	x, y := a.valuesOf(pick), b.valuesOf(pick)
	if len(x) == 0 || len(x) != len(y) {
		return false
	}
	for k, v := range x {
		if w, ok := y[k]; !ok || v != w {
			return false
		}
	}
	return true
}

// valueAt is one metric of one sample.
type valueAt struct {
	spot
	metric string
}

func (a *analysis) valuesOf(pick func(record.Cell) bool) map[valueAt]float64 {
	out := map[valueAt]float64{}
	for _, s := range a.samples {
		if !pick(s.Cell) {
			continue
		}
		for _, m := range s.Metrics {
			if v, _, ok := measured(s, m.Name); ok {
				out[valueAt{spot{s.Block, s.Cell}, m.Name}] = v
			}
		}
	}
	return out
}
