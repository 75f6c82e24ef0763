// Package drive is the test drive of a guest: it holds the data and takes as
// long over each request as a slow drive would.
//
// A [Spec] is what a plan says of a drive, a [Drive] is one at work, an
// [nbd.Backend]. When a request arrives its data is read or written at once,
// and at the same time its model (package timing) says when the request is done;
// the answer leaves when both are. One thread waits for the earliest of those
// times.
//
// A model is of a disk (package disk) or a solid-state drive (package ssd),
// perhaps behind a slow link (package link), or of several of them behind a RAID
// controller (package raid). Which numbers make it a certain drive is in
// profiles, files with a source for each number; calibration.md says what the
// models make of figures that were published. Package check measures a drive on
// this host. A Spec may also name faults, which the guest then sees, and which
// [Drive.Faults] counts.
//
// It promises: answers never leave early, but by what the guest is known to take
// to notice them ([Drive.Gauge]); how late they leave is measured where
// they leave, and a drive that is late beyond bounds says so ([Drive.Late]) and
// is the machinery's fault; so is a host that has no space left for the data
// ([Drive.Err]). While the guest is set up the drive can be told to answer at
// once ([Drive.Timed]); when timing starts it starts from a known state.
//
// It does not promise that data survives the host: nothing is synced to the
// host's storage, because a drive lives no longer than its test. It can be told
// to lose what a real drive would lose without power ([Drive.PowerCut]).
package drive
