// Package series gates a series of patches: it takes the series from an mbox, a
// range of commits or the lists' archive (b4), adds it to a plan as arms, runs
// that plan, and says which patch made writeback worse.
//
// The plan's first arm is the base. Its kernel must be source code (git,
// tarball, tree or deb: linux-source-...), and the arms that are added have its
// settings with a kernel of their own: the whole series, or each of its
// prefixes. Other arms and kernels of the plan are left out, and the caller is
// told which.
//
// # A series' directory
//
//	series.mbox   the patches as they were measured
//	applied.mbox  those that apply, where some do not
//	series.json   subjects, message ids, which arm has which patch
//	plan.yaml     the plan with the arms added
//	run/          the run directory
//
// Everything else in it is made from these.
//
// # What it promises
//
//   - A patch that does not apply is named, and those after it are tried
//     without it. One that does not build, or whose kernel breaks, is named,
//     and the next one is compared with the last kernel that ran.
//   - Samples of the baseline are taken over from an earlier run only where
//     nothing that matters differs, and they go again where fresh ones,
//     measured in between, do not agree with them.
//
// What it does not: it does not tell apart two patches of which one hides what
// the other does within one kernel; only prefixes are ever measured.
package series
