// Package store keeps what was built, under the hash of everything that went
// into it.
//
// An entry is a directory DIR/KIND/HASH. It appears under that name when it is
// complete and on the disk, and never before: not when the builder fails, is
// killed, or runs out of space. Many processes may use one store at once; of
// those that want the same entry one builds and the others wait for it. Beside
// an entry lies HASH.json, which lists in the order of hashing what went in.
//
// The key is all that the store knows. It does not find out what a build reads;
// an input left out of the key gives a stale entry. Entries are not protected
// from being written to, and one is removed only by [Store.Remove].
//
// The store must be on a local file system with flock(2): NFS is not supported.
package store
