// Package tree makes the source code of a kernel: a repository, a tarball or a
// working tree, with a series of patches on top, as one commit whose id is the
// same on every host.
package tree
