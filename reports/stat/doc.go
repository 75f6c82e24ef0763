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
// # Where blocks do not matter
//
// Pairs pay for what they cancel: five of them know the noise by four degrees
// of freedom, where two samples of five know it by eight. A host that does not
// drift makes that a loss. So where blocks are not seen to matter (the sums of
// pairs do not scatter more than their differences, by an F test at 2 %) the
// logarithms are also compared as two samples, by Welch's t, which asks nothing
// of the arms' noise being alike; and the shorter of the two intervals is taken
// with the smaller of the two p. Who tries two tests has two chances to be
// wrong, and pays for them: the paired one is held to half of the level, the
// other to a 1.1th. That is less than Bonferroni asks, since the two agree so
// often; that it is enough is shown below. [Verdict.Method] says which of the
// two gave the interval, [Verdict.SD] and [Verdict.DF] what it rests on. (Bancroft,
// Ann. Math. Statist. 15, 1944, has what pooling after a test costs where
// nobody pays.)
//
// Where a value is zero or negative no ratio exists, and the comparison is of
// plain differences in the metric's unit; see [Verdict.Scale].
//
// # Where t is not used
//
// Signed ranks (Wilcoxon) with the interval of Hodges and Lehmann take the
// place of t for a [Tail] (a boot's maximum or high percentile is a block
// maximum, and those are never near normal), where a run was stopped at its
// limit so that only a bound of its value is known, and from six pairs on
// where a block stands apart from the others (Grubbs' test at 1 %). Ranks ask
// only that a difference is as likely above the true one as below, which the
// shuffled order within a block gives. Their price is that fewer than six pairs
// have no 95 % interval at all. How often an arm breaks is a [Rate], with the
// interval of Clopper and Pearson and Fisher's test.
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
//     pairs, or too few for ranks; a baseline that differs from itself
//     ([Void]); noise that could hide a change of more than 10 %; an interval
//     that excludes zero where so many were compared that one such is to be
//     expected; no spread at all to judge by.
//   - Broken: set by the caller where an arm panicked, hung or failed. It
//     claims nothing about speed and takes no part in the FDR.
//
// # Looking repeatedly
//
// A run that adds blocks until it has decided follows [Auto]: each of its K
// looks is held to 5 % / K, so that all of them together are wrong in 5 % at
// most, whatever the noise.
//
// # Simulations
//
// False claims in % of 10,000 comparisons of an arm with itself (standard
// error 0.22), by t and, for tails, by ranks. Coverage is 100 less these.
// Ranks cannot claim with three or five pairs.
//
//	noise        n = 3   n = 5  n = 10  n = 30   ranks, n = 10  n = 30
//	normal        4.9     4.7     4.9     5.4        4.8         5.4
//	lognormal     4.9     4.7     5.0     5.4        4.8         5.4
//	bimodal       3.6     3.1     5.4     5.0        5.0         4.8
//	drifting      4.1     4.1     3.6     4.0        3.6         3.8
//	outliers      3.4     3.2     3.9     5.0        4.9         4.7
//	few steps     4.8     4.7     5.0     5.5        4.1         4.3
//
// Claims that are false, in %, of runs with 48 conditions of which none or 12
// changed by 30 % (500 runs; standard error up to 1.0 for none, 0.2 for 12):
//
//	noise        none: n = 3   n = 5  n = 10   12: n = 3   n = 5  n = 10
//	normal             0.0     0.0     4.8         1.1     2.2     3.9
//	lognormal          0.0     0.0     4.8         1.0     2.1     3.9
//	bimodal            0.0     0.2     2.8         0.2     2.1     4.2
//	drifting           0.0     0.0     2.0         1.1     1.5     2.6
//	outliers           0.2     0.0     2.8         0.4     0.3     2.4
//	few steps          0.0     0.0     5.4         0.8     2.2     3.9
//
// The tables above are of pairs alone. With both tests where blocks are not seen
// to matter, false claims in % of 40,000 comparisons (standard error 0.11), by
// how much the host scatters from block to block against the noise of an arm:
//
//	noise             host    n = 3   n = 5  n = 10  n = 30
//	normal             0       4.8     5.1     5.2     4.8
//	                   0.5     4.5     4.5     4.1     3.8
//	                   1       4.1     3.8     4.0     4.7
//	                   2       4.3     4.4     5.0     5.0
//	                   5       5.0     5.0     5.0     5.1
//	few steps          0       5.0     5.3     4.9     4.7
//	bimodal            0       4.0     2.8     4.9     4.8
//	outliers           0       3.6     3.0     2.0     2.5
//	one arm x 2        0       5.3     5.3     4.9     4.8
//	one arm x 5        0       5.8     4.7     4.6     4.4
//	drift of 0.1 %             4.9     5.2     4.5     4.6
//	  a sample of 1 %          3.3     3.6     3.9     3.9
//
// The one above 5.5 is that of Welch's test itself, whose degrees of freedom are
// a guess with three values. A look of seven (level 0.9929) is wrong in 0.9 % of
// normal noise at most, which has 0.7 to spend; Bonferroni's sum has room for
// it: runs with [Auto] and thirty blocks made false claims in 4.8 % at most
// (bimodal, 600 runs each).
//
// A change of 5 % where each arm scatters by 2 % is seen with a power of
//
//	host scatters by      0      1 %    2 %    4 %   10 %   100 %  pairs alone
//	n = 3               0.51   0.45   0.36   0.30   0.34   0.38      0.38
//	n = 5               0.90   0.87   0.79   0.73   0.80   0.82      0.82
//	n = 6               0.96   0.94   0.89   0.86   0.91   0.92      0.92
//	n = 10              1.00   1.00   1.00   1.00   1.00   1.00      1.00
//
// So the price is paid where the host scatters about as much as the arms. In 62
// comparisons of runs with three blocks on emulated drives the variance of sums
// was 1.06 times that of differences (median): those hosts did not. A run with
// [Auto], thirty blocks and See of 5 %, on a host that scatters by 10 %, saw the
// change in 0.95 of 600 runs, after 7.0 blocks on average.
//
// The same samples judged by others: false claims, and changes of 10 % that
// were missed, in % of 1000 comparisons (this package by pairs alone, as the host
// drifts in most of them; go test ./reports/stat -run SideBySide -v makes it
// again, with a steady host beside it).
//
//	noise      n   this package   benchstat    mmtests     means differ
//	                              (ranks,      (intervals  by 5 %
//	                              unpaired)    overlap)
//	lognormal  3     5.2  45.5     0.0 100.0    0.0 98.4     4.1   3.0
//	           5     4.0   4.5     0.0  87.5    0.0 97.0     1.4   0.3
//	          10     4.3   0.0     0.0  51.6    0.0 93.2     0.0   0.1
//	outliers   3     3.6  37.5     0.0 100.0    0.1 97.8    25.4   4.5
//	           5     4.5  39.3     0.0  88.1    0.0 98.6    36.3  16.4
//	          10     4.7  37.2     0.1  59.0    0.0 95.7    29.4  18.9
//	bimodal    3     4.2  79.3     0.0 100.0    0.3 99.1    40.6  21.8
//	           5     3.9  71.6     0.7  92.2    0.1 98.9    30.3  15.2
//	          10     5.0  23.1     0.6  76.3    0.0 94.9    11.7   5.8
//	drifting   3     4.4  22.8     0.0 100.0    0.0 76.3     0.5   0.5
//	           5     3.9   0.2     0.1   4.4    0.0 41.6     0.1   0.0
//	          10     3.1   0.0     0.0   0.7    0.0 34.6     0.0   0.0
//
// The host drifts by 10 % from block to block in the first three, which the
// others, without blocks, take for noise of the arms.
//
// # What it does not promise
//
// The t interval assumes that the mean log ratio is near normal. With three
// pairs nobody can check that; the simulations above bound the rate of false
// claims. What they do not bound is a family of fewer than eight comparisons
// with noise of two modes: three boots that agree by luck are then believed,
// in 3 % of comparisons at most; see [Judge]. The price of
// normal theory over ranks is this assumption; its worth is that three blocks
// can decide, where ranks need six. The observed noise is itself uncertain
// with few pairs: at n = 3 it may be off by a factor of two and more, and the
// MDE with it.
//
// Sources: Student, The probable error of a mean, Biometrika 6 (1908);
// Wilcoxon, Biometrics Bulletin 1 (1945); Hodges and Lehmann, Ann. Math.
// Statist. 34 (1963); Clopper and Pearson, Biometrika 26 (1934);
// Benjamini and Hochberg, J. R. Statist. Soc. B 57 (1995); Grubbs,
// Technometrics 11 (1969).
package stat
