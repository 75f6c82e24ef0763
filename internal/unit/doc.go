// Package unit reads and writes sizes, rates and durations as people write
// them in plans.
//
// It promises that a text means one number of bytes: "4GB" is 4·10⁹ and
// "4GiB" is 4·2³⁰, letters have one case, and a number without a unit is an
// error, because "512k" or "4096" means different things to different tools.
// What String writes, the parser of the same type reads back as the same
// value.
//
// It does not round: a size that is no whole number of bytes is an error. It
// does not print approximations for people; a report chooses its own digits.
package unit
