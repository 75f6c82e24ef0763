// Package kconfig knows configurations of kernels: it reads them, holds the
// fragments that guests need as data with a reason each, and says of a symbol
// that did not become what was asked which dependency is not met.
//
// Kconfig itself decides; it runs when a kernel is built. What is read of the
// Kconfig files here is for the message only and is rough: what the files
// compute by $(shell ...) counts as met.
package kconfig
