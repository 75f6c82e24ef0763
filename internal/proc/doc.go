// Package proc runs host programs that cannot outlive us, and keeps what they
// said.
//
// It promises that a program started here, and everything that program started
// in turn, ends when its context is cancelled, when the program itself ends, or
// when this process ends in any way, SIGKILL and a crash included. The same
// holds for directories made with [TempDir] and mounts named with [Mounted].
// What a failed program wrote last is in its [Error].
//
// Four means work together, since each alone has a hole:
//
//   - Every child is the leader of its own process group, and a whole group is
//     signalled at once.
//   - Every child has PR_SET_PDEATHSIG set to SIGKILL. The kernel sends that
//     signal when the thread that forked ends, not the process, so one thread
//     that never ends does all forking. Grandchildren do not inherit it.
//   - Every child carries a mark in its environment ([MarkName]), which its
//     descendants inherit even through setsid. What still carries the mark is
//     found in /proc/PID/environ.
//   - A guardian, a small POSIX shell script in its own session, reads a pipe of
//     which only we hold the other end. When the pipe ends we are gone, however
//     it happened, and the guardian kills, unmounts and removes what was
//     registered with it.
//
// What escapes: a descendant that leaves its process group and also runs with
// an emptied environment, or changes to a user that we may not signal (sudo).
// A host that stops at once leaves directories behind; [Sweep] removes those.
//
// Linux only.
package proc
