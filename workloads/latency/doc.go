// Package latency keeps how long many operations took: in histograms that lose
// no tail, and in a list of the ones that stalled.
//
// A [Histogram] is an HDR histogram of nanoseconds with three significant digits;
// it travels between processes as JSON and can be added to another. A [Plat] is
// the histogram of fio's tools, kept for output that is compared with theirs. A
// percentile is, as in fio, the first value with which that share of the
// operations is reached.
//
// The maximum and the mean are exact. Percentiles are right to one part in a
// thousand, as long as nothing takes longer than [Longest].
package latency
