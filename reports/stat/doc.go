// Package stat judges paired samples: is an arm better or worse than the
// baseline, by how much, and what would have been seen if it were not.
//
// # The comparison
//
// A block holds one sample of every arm, taken close together on one host.
// Within a block the arm is compared with the baseline by the logarithm of
// their ratio, so what drifts from block to block cancels, and +10 % and
// -9.1 % are the same distance from nothing. Over the blocks the mean of the
// log ratios gets Student's t interval (95 %) and a two-sided t test; results
// are given back as a change, exp(mean) - 1. This is the geometric mean of the
// ratios: with noisy runs it differs in the last digit from the ratio of the
// means.
//
// Where a value is zero or negative no ratio exists, and the comparison is of
// plain differences in the metric's unit; see [Verdict.Scale].
//
// # The verdicts
//
//   - Better, Worse: the 95 % interval excludes zero, and the claim stands
//     with a false-discovery rate of 5 % among all comparisons of the run
//     ([FDR]).
//   - NoChange: the interval includes zero, and a change of [WorthSeeing]
//     (10 %) or less would have been seen with a probability of 80 % at the
//     observed noise. [Verdict.MDE] says which change that is.
//   - Undecided: everything else. [Verdict.Why] says why: fewer than three
//     pairs; noise that could hide a change of more than 10 %; an interval
//     that excludes zero where so many were compared that one such is to be
//     expected; no spread at all to judge by.
//   - Broken: set by the caller where an arm panicked, hung or failed. It
//     claims nothing about speed and takes no part in the FDR.
//
// # What it does not promise
//
// The t interval assumes that the mean log ratio is near normal. With three
// pairs nobody can check that; simulations in the tests bound the rate of
// false claims for normal, lognormal and heavy-tailed noise. The price of
// normal theory over ranks is this assumption; its worth is that three blocks
// can decide, where ranks need six. The observed noise is itself uncertain
// with few pairs: at n = 3 it may be off by a factor of two and more, and the
// MDE with it.
//
// Sources: Student, The probable error of a mean, Biometrika 6 (1908);
// Benjamini and Hochberg, J. R. Statist. Soc. B 57 (1995); Grubbs,
// Technometrics 11 (1969).
package stat
