// Package pipe is read-to-pipe-async: a file is read block by block and written
// to standard output in order, and a read that stalls does not hold up the reads
// after it. So the latencies are those that a user meets who goes on working, and
// not those of a program that waits politely (coordinated omission).
//
// Jens Axboe wrote it in March 2016 for his writeback throttling
// (t/read-to-pipe-async.c of fio). This is written anew from what that does: one
// resident reader, a further one for each block that finds it busy, at most one
// new read each 10 ms while reads are stalled, one writer that keeps the order,
// the same histogram and the same report on standard error.
//
// Where it differs: a read that finishes before the wait for it begins costs
// nothing, where the original then waits the full 10 ms; the rates are in KiB/s;
// and what was measured goes into a report with all digits.
//
// [Run] can also do the test that the program's head describes: what is read goes
// through a second process (gzip -dc, or one that copies) into a file on the same
// drive, and a sync ends it: "reading a 5g file, and rewriting it".
package pipe
