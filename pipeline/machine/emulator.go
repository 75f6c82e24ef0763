package machine

import (
	"regexp"
	"strconv"
)

// printedFlags is where the kernel prints a CPU's flags as the hardware saved
// them, in a dump of registers (__show_regs, arch/x86/kernel/process_64.c).
var printedFlags = regexp.MustCompile(`\bEFLAGS: ([0-9a-f]{8,16})\b`)

// Bits of RFLAGS that no x86 CPU changes (Intel's manual, volume 1, 3.4.3): bit 1
// reads as 1; 3, 5, 15 and all from 22 on read as 0.
const (
	flagsSet   = 1 << 1
	flagsClear = 1<<3 | 1<<5 | 1<<15 | ^uint64(1<<22-1)
)

const emulatorHint = "a rare fault of QEMU's translator; where it comes back each time, see whether the kernel writes over its own stack, or have KVM run it"

// impossibleFlags says whether a line of the console shows flags that no CPU
// has. QEMU's translator keeps them apart from the rest of the CPU, to be computed
// when they are asked for. Rarely, where the kernel rewrites the very code that
// runs, it computes them of what is left of something else; the guest returns to
// that and dies of a double fault, in code that has nothing to do with it. Seen
// of QEMU 7.2, once in very many boots.
//
// A kernel that writes over its own stack could print the like. It is taken for
// the emulator's fault then, each time anew, and the run stops and says why.
func impossibleFlags(text string) bool {
	m := printedFlags.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	flags, err := strconv.ParseUint(m[1], 16, 64)
	return err == nil && (flags&flagsSet == 0 || flags&flagsClear != 0)
}
