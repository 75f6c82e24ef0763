// Package kbuild configures and builds a kernel with its own Makefiles, and
// gives the same bytes each time.
package kbuild
