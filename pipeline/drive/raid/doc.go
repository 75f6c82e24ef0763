// Package raid makes one drive out of several: RAID 0, 1, 5, 6 and 10 behind a
// controller.
//
// An [Array] is a [timing.Model] made of the models of its members. It models:
// striping with a stripe unit; mirrors, of which the less busy is read; rotating
// parity, with the reads that a partial stripe costs (read-modify-write, or
// reading the rest of the stripe where that is less) and without them for a
// whole stripe; a controller that takes up one command at a time; a write-back
// cache that survives the loss of power, so that flushing it is free, destaged
// behind in order of address. The same members and arrivals give the same
// completions.
//
// It does not model failed members, rebuilding, scrubbing, the controller's
// read-ahead, or the time that computing parity takes.
//
// Sources: Patterson, Gibson and Katz, A case for redundant arrays of
// inexpensive disks, SIGMOD 1988; the left-symmetric layout and the choice
// between the two ways of updating parity are those of Linux's
// drivers/md/raid5.c.
package raid
