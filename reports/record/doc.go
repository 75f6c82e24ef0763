// Package record is the form of a run on disk: what was asked for, what
// every sample gave, and the raw logs beside it. A run directory is written
// once and read for ever; a report needs nothing else.
//
//	RUN/
//	  manifest.json              everything needed to do the run again
//	  plan.yaml                  the plan, byte for byte as it was read
//	  lock                       held (flock) by the one writer
//	  samples/b1/SLUG/           one counted sample: block 1, one cell
//	    sample.json              outcome, metrics, settings read back
//	    console.log, ...         raw files, as the guest and QEMU gave them
//	  attempts/b1/SLUG/a1/       an attempt that does not count
//	    attempt.json             and why
//	  drafts/                    samples in the making
//
// # Promises
//
//   - A sample directory appears whole or not at all: it is made under
//     drafts/, synced, and renamed into place.
//   - A sample is never replaced. Attempts that failed through no fault of
//     the kernel are kept under attempts/ with the reason, and are never
//     counted.
//   - One writer at a time. The lock goes with the process, also when it is
//     killed; drafts that a killed writer left become attempts when the next
//     writer opens the run.
//   - Readers need no lock and may read while a run goes on.
//   - The same values give the same bytes: maps are written in sorted order.
//   - A run of a later format is refused, by name and number.
//
// # What it does not do
//
// It does not guard against someone who edits the files, and flock does not
// reach across all network filesystems: keep a run that is being written on
// a local disk.
package record
