// Package kbuild configures and builds a kernel with the kernel's own Makefiles,
// and gives the same bytes each time.
//
// Two builds of the same tree with the same configuration and compiler give the
// same image, in whatever directory and on whatever day: time, user, host and
// number of the build are fixed, paths are taken out (-ffile-prefix-map),
// warnings are no errors, and variables of the environment that the Makefiles
// would read are unset. The number in uname -v is git's id of the tree, so a
// booted kernel tells which source it is of.
//
// Builds are incremental. A lane is a source tree with an object tree beside it,
// for one compiler, configuration, architecture and kernel series. A lane goes
// from commit to commit by git checkout, which gives new times to files that
// differ and to no others; so the second arm of a comparison costs what its
// patch touches. Processes take turns at a lane. A build that did not come to
// its end in good order (a crash, SIGKILL, a full disk) costs the lane its
// objects: a half-written one would be taken for a good one.
//
// A failure is the kernel's fault ([fault.Kernel], reason "build") with the
// first error, its file and line, and the patch that touches the file. It is the
// machinery's where the host lacks a header or memory, or the compiler breaks.
package kbuild
