// Package bisect finds the commit at which a metric changed, and says how sure
// that is.
//
// Both ends are measured first, in blocks; where they do not differ there is
// nothing to look for, and it says so. Then package search chooses one commit
// after another by what its boot is expected to tell for what it costs, with
// the ends among them again so that a drift of the host cancels. At the end the
// culprit is measured against its parents in fresh blocks, and, where git
// reverts it cleanly on the bad end, the bad end without it.
//
// It promises:
//
//   - A commit that does not build, boot or survive is skipped, and counts as
//     no evidence. So is one where spindle's own patch does not fit. A failure
//     of our machinery is retried, then ends the bisection, and is none either.
//   - Kernels that differ in nothing but their names (documentation, other
//     architectures) share their samples.
//   - All that is known is in an append-only log, synced at each line. A
//     bisection that was stopped or killed at any moment goes on from it, and
//     loses the sample at work at most.
//   - The user's repository is read and never written.
//
// In real time nothing is built while a guest is measured, since that would
// disturb it. In virtual time the next kernel is built beside.
//
// It does not promise that the one commit it names is the only one at fault: see
// package search for its model. What a merge brings in from a branch that began
// before the good end is part of the history, as for git bisect.
package bisect
