package reports

import (
	"slices"

	"spindle/reports/record"
	"spindle/reports/stat"
)

// finding is what a comparison came to, with a break charged to the arm that
// broke. Its text is the word that reports use.
type finding string

const (
	armBroke      finding = "breaks" // and the baseline did not
	bothBroke     finding = "both broke"
	baselineBroke finding = "baseline broke" // and the arm did not: nothing is known of it
	planFault     finding = "plan at fault"  // all that broke did so for a mistake of the plan
	worse         finding = "worse"
	better        finding = "better"
	noChange      finding = "no change"
	undecided     finding = "undecided"
	noBaseline    finding = "no baseline sample yet" // so even a break says nothing
)

// finding gives what a comparison came to.
func (k *comparison) finding() finding {
	switch k.verdict.Kind {
	case stat.Broken:
		if k.mistake {
			return planFault
		}
		isArm := func(s record.Sample) bool { return s.Arm == k.arm }
		isBase := func(s record.Sample) bool { return s.Arm != k.arm }
		switch {
		case !slices.ContainsFunc(k.broke, isArm):
			return baselineBroke
		case slices.ContainsFunc(k.broke, isBase):
			return bothBroke
		}
		return armBroke
	case stat.Worse:
		return worse
	case stat.Better:
		return better
	case stat.NoChange:
		return noChange
	}
	if k.noBase {
		return noBaseline
	}
	return undecided
}

// brokenAlone gives the conditions in which a run with one arm broke, and all
// that have a sample.
func (a *analysis) brokenAlone() (broke, of int) {
	for _, c := range a.manifest.Conditions {
		cell := a.cells[record.Cell{Arm: a.baseline(), Condition: c}]
		if len(cell) == 0 {
			continue
		}
		of++
		if slices.ContainsFunc(cell, func(s record.Sample) bool { return s.Outcome.Kind != record.OK && !a.mistaken(s) }) {
			broke++
		}
	}
	return broke, of
}
