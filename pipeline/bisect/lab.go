package bisect

import (
	"context"

	"spindle/reports/record"
)

// Lab makes kernels and samples of commits. The real one is this host (see
// [Bisect]); tests have one that computes.
type Lab struct {
	// Build makes the kernel of a commit, or gives the one that is there. patch
	// is a file of one more change on top; "" is none. An error that is the
	// kernel's fault, or the plan's, is the commit's; any other is ours. Where
	// Seconds is left at zero the time that the call takes is put there.
	Build func(ctx context.Context, commit, patch string) (Kernel, error)

	// Sample boots a kernel and leaves its raw files in dir, which is not there
	// before. Samples with the same block have the same seeds. An outcome that
	// is not [record.OK] is the kernel's, an error is ours.
	Sample func(ctx context.Context, k Kernel, block int, dir string) (Result, error)

	// Kept reads what Sample left in dir; false if it is not there. It finds the
	// sample that was done when we were killed.
	Kept func(dir string) (Result, bool)

	// Built says whether the kernel of a commit is there already.
	Built func(commit string) bool

	// Virtual says that the same kernel gives the same value in the same block,
	// however busy the host is: then no kernel is measured twice in a block, and
	// builds go on beside.
	Virtual bool
}

// Result is what a boot gave.
type Result struct {
	Value   float64 // of the metric, in its unit
	Outcome record.Outcome
	Seconds float64 // of wall time
}
