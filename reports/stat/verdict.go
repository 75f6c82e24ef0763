package stat

import "fmt"

// Direction says which way a metric is better.
type Direction int

// The two directions.
const (
	Lower  Direction = iota // less is better
	Higher                  // more is better
)

// Kind is what a comparison came to.
type Kind int

// The kinds; the package comment defines them.
const (
	Undecided Kind = iota
	NoChange
	Better
	Worse
	Broken
)

// String gives the word that reports use.
func (k Kind) String() string {
	switch k {
	case Undecided:
		return "undecided"
	case NoChange:
		return "no change"
	case Better:
		return "better"
	case Worse:
		return "worse"
	case Broken:
		return "broken"
	}
	return fmt.Sprintf("stat.Kind(%d)", int(k))
}

// Why says what keeps a comparison undecided.
type Why int

// The reasons; None for every kind but Undecided.
const (
	None     Why = iota
	FewPairs     // fewer than three pairs
	Noise        // a change of more than WorthSeeing could hide
	Chance       // among so many comparisons, one like this is to be expected
	NoSpread     // every pair gave the same change: no noise to measure it by
	FewRanks     // too few pairs for a test by ranks, which tails and limits need
	Control      // the baseline against itself changed as well
)

// Scale says what Change, Low, High and MDE of a Verdict are.
type Scale int

// The two scales.
const (
	Ratio      Scale = iota // relative: 0.15 is +15 %
	Difference              // in the metric's unit
)

// Known says how much a value tells.
type Known int

// A run that is stopped at its limit tells only on which side of the value the
// true one lies: a runtime is longer, a throughput smaller.
const (
	Exact   Known = iota
	AtLeast       // the true value is this or more
	AtMost        // the true value is this or less
)

// First says which of a pair ran first.
type First int

// The orders.
const (
	UnknownFirst First = iota
	BaseFirst
	ArmFirst
)

// Pair is what one block gave. NaN stands for a value that is missing.
type Pair struct {
	Block               int
	Base, Arm           float64
	BaseKnown, ArmKnown Known
	First               First
}

// Method is how a verdict was found.
type Method int

// The methods; the package comment says which is used when.
const (
	ByT          Method = iota // Student's t, in pairs
	ByTwoSamples               // Welch's t, where blocks are not seen to matter
	ByRanks                    // Wilcoxon's signed ranks
)

// Verdict is the judgement on one comparison.
type Verdict struct {
	Kind   Kind
	Why    Why
	Scale  Scale
	Method Method

	Change    float64 // of the arm against the baseline; NaN without pairs
	Low, High float64 // interval of Change; NaN with fewer than two pairs, infinite where ranks have too few
	Level     float64 // coverage of the interval: 0.95, or more where a run looks repeatedly
	MDE       float64 // smallest change that would have been seen: 80 % power at the observed noise; NaN with fewer than two pairs or no spread at all
	P         float64 // two-sided, times the number of looks; NaN with fewer than two pairs
	SD, DF    float64 // of one pair's distance, and by how many degrees of freedom it is known; 0 where ranks were compared or nothing scattered
	Q         float64 // P adjusted for all comparisons of the run; P itself before FDR
	N         int     // pairs used

	// Warnings are for the reader of the verdict, not for the program.
	Warnings []string
}
