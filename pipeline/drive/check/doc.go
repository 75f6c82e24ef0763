// Package check measures a drive from outside and compares it with what its
// model says: does the drive behave like the one on its label, on this host?
//
// The same requests go two ways. fio sends them over NBD to the drive in real
// time, as QEMU would; what arrived is noted, and the model is asked in virtual
// time how long the same requests take one after the other. The difference is
// the error: transport as far as it is not made up for, late answers, and
// nothing that was fitted to the model.
//
// It promises that the model's figure does not depend on what was measured, only
// on which requests came in which order. It does not judge the label: whether the
// model is the disk that it names is what calibration.md beside package drive
// says.
package check
