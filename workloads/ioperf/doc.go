// Package ioperf is the I/O of a PostgreSQL server without the server: processes
// that read random blocks of a large data file, one that overwrites random blocks
// of it and now and then fsyncs the lot (the checkpointer), and one that writes a
// log and commits every fifth record.
//
// Andres Freund posted the original to linux-mm in March 2014 ("[Lsf] Postgresql
// performance problems with IO latency, especially during fsync()"); Dave Chinner
// answered with figures of XFS, ext4 and btrfs. This is written anew from what the
// published program does: real processes, the same sizes, system calls and
// pauses, and its lines on standard output.
//
// Four traps of the original are kept, because the published figures have them:
//
//   - All processes draw from one sequence of random numbers, since fork copies
//     the generator. The readers march over the same places nearly in step, and the
//     checkpointer writes the places that they read. Random "independent" gives
//     each process a sequence of its own.
//
//   - Places are byte offsets and not aligned: a block of 8 KiB touches three
//     pages. Offsets "aligned" takes whole blocks.
//
//   - The printed averages divide by the readers' interval for every kind of line,
//     so those of the log are ten and those of commits twenty times too small. The
//     report, which the metrics come from, is right.
//
//   - Commits come at even distances, so on a disk that makes them wait for its
//     platters they keep step with its turns: the median of a boot is that of the
//     angle at which it began, and the next boot's may be a turn more. A
//     CommitPause draws the distances.
//
// Where it differs: it ends after a time, where the original runs until it is
// killed; the seed is given and not the time of day; an error ends the run with
// that error; all processes begin together.
package ioperf
