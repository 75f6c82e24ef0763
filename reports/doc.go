// Package reports makes the report of a run, or of several runs of one plan
// ([Merge]): Markdown that reads well unrendered in a mail, the same as text
// and as one HTML page, plots beside it, every value as CSV and JSON, and each
// comparison as a test in JUnit's form or TAP. The same samples also answer for
// another axis than the plan's arms ([Report.Against]).
//
// A report is made from the run directory alone. The same directory gives the
// same bytes each time, wherever it lies and whenever it is read; so a report
// can be thrown away and made again, also by someone else.
//
// # Promises
//
//   - No line of report.md is wider than 72 columns.
//   - Where the baseline compared with itself changes, the report says so at
//     the top and claims nothing.
//   - Every comparison is in a table, also those without a change, and says
//     then what would have been seen.
//   - What breaks is a row, with the line of the log that shows it. A run that
//     is not finished says so first.
//   - Doubts travel with the rows they belong to, as numbered notes.
//
// # What maintainers asked for
//
// In the mails that spindle was made after, reviewers asked for these; what
// answers them:
//
//   - four arms, with differences in numbers: arms with settings, each in the
//     table of changes with its interval;
//   - ext4, XFS and btrfs, unchanged rows too, absolute figures: the table of
//     each workload;
//   - 1, 2, 3, 10, 30, 100 clients, and where it turns: Against the number of
//     clients, with a plot;
//   - extents per file, by arm and over rounds of ageing: the workload age and
//     the files' extents of every sample;
//   - not from a single test: fewer than three pairs never decide, and claims
//     are held to a false-discovery rate over the whole run;
//   - every runtime, mean, sd and CV, and arms that scatter unlike: Every
//     sample, and a note by Fisher's F test;
//   - another scheduler, to exclude an interaction: a condition, or
//     [Report.Against] scheduler;
//   - max and percentiles, not only means: metrics of their own, compared by
//     ranks; latencies as distributions;
//   - iostat aligned with the stalls: the plot of one sample of each arm over
//     time;
//   - throughput over time, so that a start does not hide the rest: the plot of
//     all samples;
//   - the same with tracing off and on, and what was lost: the workload without
//     its trace, and the number of lost events;
//   - settings, mkfs and mount lines, storage in detail: How it was measured,
//     read back from the guests;
//   - "cannot reproduce" as a result: [Again], and spindle reproduce;
//   - BUG and WARN in the log: outcomes with the line of the log that shows it.
//
// It does not answer: network speeds and NFS (guests have none), the first run
// apart from runs over the same files, and the bytes that a limit leaves to each
// client.
//
// It judges nothing itself: verdicts are those of reports/stat. Text that came
// out of a guest is escaped, never interpreted.
package reports
