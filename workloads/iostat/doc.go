// Package iostat makes iostat's columns from /proc/diskstats: the classic ones of
// sysstat 10.2, which the mails of 2014 show and no sysstat prints any more
// (avgrq-sz in sectors, avgqu-sz, await, svctm), and those of today.
//
// It promises the formulas of sysstat and their quirks: zero where there was no
// request, a classic %util of at most 100, millisecond counters that wrap at 2^32. Latencies
// are accounted when a request completes, so a stall of four seconds shows in the
// one interval in which it ends; and flushes are counted as writes by no column
// of the classic ones. Since Linux 5.0 %util is sampled at the timer's ticks.
package iostat
