// Package search finds the commit at which a noisy measurement changed: which
// commit to boot next, and how sure the answer is by now.
//
// It knows no git, no kernels and no clock. Commits are numbers of a [Graph],
// a sample is the logarithm of a metric, and the caller does the boots:
//
//	s, err := search.New(graph, search.Options{Good: []int{0}, Bad: 1000})
//	for {
//		next := s.Next(block, cost)
//		if next.Done {
//			break
//		}
//		// boot next.Commit, then one of
//		s.Observe(next.Commit, block, math.Log(seconds))
//		s.Skip(next.Commit)              // does not build, boot or survive
//		s.Alias(next.Commit, other)      // the same kernel, byte for byte
//	}
//	fmt.Println(s.State())
//
// # The model
//
// The metric has one level before the culprit and another one after it. A
// commit is bad if the culprit is the commit itself or an ancestor of it, so
// merges need no special care. Neither level is known, nor is the noise: all
// are integrated out, for every possible culprit, together with a shift of the
// host that the samples of one block share. What remains is how well each
// culprit explains all samples at once. Beside the culprits stand two more
// explanations: that nothing changed, and that two commits changed the metric.
// A sample may be an outlier (5 % are expected to be), and says little then.
//
// # What it promises
//
//   - The same calls in the same order give the same answers: no clock, no
//     randomness. State and Next count among the calls: what they work out is
//     where the next one starts from.
//   - A commit that is skipped counts as no evidence at all. What can no
//     longer be told apart for want of a commit that runs is given as a set.
//   - A commit is named when its probability reaches [Options.Confidence],
//     not before. How often that is right is in simulation.md, beside this
//     file, with the boots it took and what others take.
//
// # What it does not promise
//
// Probabilities are those of the model. A metric that drifts within a block,
// has two modes in one kernel, or changes its noise with its level by much is
// outside of it. More than two changes are reported as two.
//
// A Search is not safe for use by several goroutines.
package search
