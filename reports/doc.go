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
// It judges nothing itself: verdicts are those of reports/stat. Text that came
// out of a guest is escaped, never interpreted.
package reports
