// Package tree makes the source code of a kernel out of what people have: a
// repository, a tarball, a working tree, with a series of patches on top.
//
// What comes out is a commit in a bare repository of our own. The same base and
// the same patches give the same commit id on every host and day: git am
// applies them with a fixed committer, and dates come from the mails. What was
// applied before is found again by the hash of the mails.
//
// The user's repository is read and never written: ours borrows its objects
// (objects/info/alternates), and git runs without the user's configuration,
// hooks, filters and attributes. The one trace that borrowing leaves is git's
// own: it may renew the time of a pack or object file that has an object which
// would otherwise be written. If the user's repository drops objects, what was
// built of them is made again.
//
// A patch that does not apply is the kernel's fault ([fault.Kernel], reason
// "patch"), with git's explanation and the hunk. There is no fuzz: a hunk whose
// context differs is applied only if git am --3way can merge it.
//
// A repository by URL is fetched one commit deep, and as a whole where a range
// of its commits is asked for.
package tree
