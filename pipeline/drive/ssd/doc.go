// Package ssd says how long a solid-state drive takes over each request.
//
// An [SSD] is a [timing.Model]. It models: a controller that takes up one
// command at a time; channels that read pages in parallel, a page's channel
// following from its address; a link that carries one transfer at a time; a
// buffer in DRAM that takes writes and is programmed behind, first at the rate
// of a part of the flash used as single-level cells and, when that is full, at
// the sustained rate; reads that wait for a program that is under way on their
// channel; flush, forced unit access, trim. The same profile, options and
// arrivals give the same completions.
//
// It does not model a flash translation layer: no garbage collection, no wear,
// no effect of how full the drive is or of where earlier writes went. Neither
// does it model the power states of links and controllers. A real drive that is
// nearly full and written at random is slower than this one.
package ssd
