// Package guest runs programs in a booted machine over SSH and moves files
// over SFTP, on one stream that is already there: the machine's virtio-serial
// port. Nothing of it needs a network.
//
// It promises that
//   - both sides are who they should be: the guest's host key is pinned, and
//     the key we log in with exists for this guest alone (see [NewKeys]);
//   - every call ends when its context or its limit ends, or when the guest is
//     lost, whatever the guest does;
//   - a guest that leaves keepalives unanswered is told by [Guest.Lost] and by
//     the error of every call, which wraps [ErrLost];
//   - a file appears under its name whole or not at all, on both sides.
//
// It does not judge. A lost guest may have panicked, hung, or lost its SSH
// server: ask the machine (machine.Machine.Diagnose). A command that ends with
// a status other than 0 is a [Result], not an error.
package guest
