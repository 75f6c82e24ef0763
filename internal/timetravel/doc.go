// Package timetravel keeps the time of a User Mode Linux kernel that was booted
// with time-travel=ext: the guest's clock stands still while it computes, and
// jumps when it sleeps, to whatever comes next in a calendar that we keep.
//
// [Calendar] is our end of the guest's socket. It speaks both forms of the
// protocol of include/uapi/linux/um_timetravel.h: messages alone, and the
// memory that the two ends share from Linux 6.11 on, in which a guest that sleeps
// costs one message instead of six. Which of them is used is the guest's
// choice: both are offered.
//
// It promises that time never runs backwards, that the guest runs only up to
// the next event of ours, and that one thing happens at a time: either the
// guest runs or we do. So a run depends on nothing but what the guest computes
// and what our events do, and not on how fast the host was.
//
// It knows one guest, and nothing of devices: who uses it says when their
// next event is and what to do then (see [Calendar.Turn]). It does not find a
// guest that computes for ever without a look at its clock.
package timetravel
