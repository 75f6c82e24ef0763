// Package torture is fsync-tester, the buffered writeback torture program: a
// process that overwrites random pages of a large file without end, and beside
// it one that overwrites a small file and fsyncs it, and says how long both took.
//
// Theodore Ts'o wrote it in March 2009, Chris Mason added the random writer
// ("buffered writeback torture program", linux-fsdevel, April 2011). This is
// written anew from what the published program does: the same files, sizes,
// system calls and pauses, the same random numbers (glibc's rand with seed 4096)
// and the same lines on standard output.
//
// Where it differs: a failed fsync or a random writer that died ends the run with
// an error, as both mean that nothing was measured; the number of fsyncs in the
// last line is right also when all iterations were made; the clock starts when the
// random writer is at work and not while its process starts; sizes, pause and limits
// are options; a pause may be drawn anew each time, from half of it to one and a
// half (Options.Jitter); and the measured times go into a report with all their digits,
// where the published lines have four.
//
// The file for the random writes is filled before the clock starts if it is
// smaller than it should be, and is not synced then. So the first run starts with
// dirty pages up to the limit and a run that finds the file starts with few: the
// modes "fresh" and "reuse" of a plan are these two cases.
package torture
