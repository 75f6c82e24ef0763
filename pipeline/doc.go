// Package pipeline carries a plan from its file to the samples of a run
// directory, on this host.
//
// [Load] reads a plan and tells every mistake with its place. [Layout] lays it
// out in blocks by the plan's seed. [Prepare] makes what all samples share:
// kernels, the root image, an initramfs per kernel, and the accelerator found
// by a real boot. [Run] and [Resume] make the samples, one after the other:
// each is a fresh guest with a fresh drive, reached over SSH, in which the
// workload is set up, timed and ended. A local run, [Shell] and any caller that
// spreads or repeats samples go through the same code.
//
// It promises:
//   - a plan that cannot be carried out is refused before a guest boots, and
//     before anything is built where the file alone shows it;
//   - the layout of a plan never changes, so that a run can be resumed, and
//     one from years ago be done again;
//   - a sample is in its place on disk, whole, before the next one boots; what
//     an interrupt leaves is an attempt, never half a sample;
//   - a fault of the kernel under test is the sample's outcome. A fault of our
//     own (QEMU killed, drive late, the guest's clock not ours) is tried again
//     on a fresh guest, at most three times in all, and never becomes a sample;
//   - guests, drives and temporary files end with the sample, and with this
//     process however that ends;
//   - one run at a time measures from one cache directory; others wait.
//
// It does not promise that samples are good: what else the host did, how late
// the drive was and how busy the guest's CPUs were is recorded with each, to be
// judged by whoever reads. It does not compare anything; that is for package
// reports. It does not resume across a change of kernels, image, accelerator,
// QEMU or host: such samples could not stand beside each other.
package pipeline
