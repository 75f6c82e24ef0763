package kernels

import (
	"cmp"
	"slices"

	"spindle/kernels/kconfig"
)

// Again gives the source of the same kernel built once more, so that it differs
// in nothing that matters: by the fragment "again", in how much of its log it
// keeps, which moves what lies behind that in memory. false says that the kernel
// is not built here.
//
// The other configuration costs a build of its own, of all objects.
func (s Source) Again() (Source, bool) {
	if !s.Builds() {
		return s, false
	}
	parts := []string(s.Config)
	if len(parts) == 0 {
		parts = kconfig.Default(cmp.Or(s.Arch, "x86_64"))
	}
	s.Config = append(slices.Clone(parts), "again")
	return s, true
}
