package kbuild

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/kernels/kconfig"
)

// The first is how the top Makefile of 4.15 wraps all that it
// lists; the second is of mm/Makefile.
func TestRead(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"no symbol": {"ifeq ($(mixed-targets),1)\n%:\n\t@:\nelse\ncore-y\t+= kernel/ mm/\nendif\n", []string{"kernel/", "mm/"}},
		"a symbol":  {"ifdef CONFIG_MMU\nobj-y += mmap.o\nelse\nobj-y += nommu.o\nendif\n", []string{"mmap.o"}},
		"nested":    {"ifeq ($(dot-config),1)\nifdef CONFIG_SMP\nobj-y += smp.o\nelse\nobj-y += up.o\nendif\nelse\nobj-y += last.o\nendif\n", []string{"up.o", "last.o"}},
	} {
		w := walker{config: kconfig.Config{"CONFIG_MMU": "y"}}
		if d := cmp.Diff(tt.want, w.read(tt.text, map[string][]string{})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
