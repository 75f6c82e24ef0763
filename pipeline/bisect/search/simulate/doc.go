// Package simulate measures package search on histories whose culprit is
// known, and what others do on the same ones: how many boots each takes, and
// how often it is right.
//
// Every boot is counted, those of the ends and repeats too. A commit that does
// not build costs a build and no boot. All is drawn from a seed, so a table can
// be made again.
//
// # The others
//
// git bisect run, with a script that boots a commit k times and compares mean
// or median with a threshold. The threshold is half way between the ends, each
// of which is booted k times or more. It skips what does not build as git does
// (bisect.c, skip_away). From all k, sizes of the ends, and mean or median the
// cheapest is taken that is right as often as spindle, which nobody could know
// beforehand.
//
// A Bayesian search of passes and failures, as git_bayesect has it
// (github.com/hauntsaninja/git_bayesect): each boot is a pass or a failure by
// such a threshold, the rates of both are unknown with Beta priors, the next
// commit is that of least expected entropy, and 95 % is enough. Beside its
// default priors, some that believe in a sharper test and in a duller one are
// tried, with ends of several sizes; again the cheapest that is right as often
// is taken. Unlike the original it stays away from commits that do not build.
package simulate
