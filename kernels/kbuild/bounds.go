package kbuild

import (
	"fmt"

	"spindle/internal/fault"
)

// bound is what is known of a compiler and the age of a tree.
type bound struct {
	kind   string  // gcc or clang
	since  Version // it is about kernels from this one on; zero: from the first
	kernel Version // and before this one; zero: to the last
	from   Version // and compilers from this version on; zero: all
	before Version // and compilers before this version; zero: all

	impossible string   // why there is no way; "" if there is one
	cc         string   // word to put behind the compiler, where only that reaches all of the build
	make       []string // variables of make
	flags      string   // for C and assembler
	note       string   // what the help is for
}

// bounds is the table. Sources: Documentation/process/changes.rst for the
// oldest compilers, else the commit that taught kernels about the newer one.
var bounds = []bound{
	// include/linux/compiler-gcc.h asked for a file by the compiler's number,
	// until cb984d101b30 ("compiler-gcc: integrate the various compiler-gcc[345].h files").
	{kind: "gcc", kernel: Version{4, 2}, from: Version{6}, impossible: "kernels before 4.2 have a header for each gcc, up to gcc 5"},
	// 8ae94224c9d7 ("kbuild: add -fno-PIE"): distributions' compilers make
	// position-independent programs unless they are told otherwise.
	{kind: "gcc", kernel: Version{4, 9}, from: Version{6}, flags: "-fno-pie", note: "compilers that default to -fpie came after this kernel"},
	// e33a814e772c ("scripts/dtc: Remove redundant YYLOC global declaration"):
	// -fno-common is the default since gcc 10.
	{kind: "gcc", kernel: Version{5, 6}, from: Version{10}, make: []string{"HOSTCFLAGS=-fcommon"}, note: "gcc 10 no longer merges variables of host programs that are defined twice"},
	// 52a9dab6d892 ("libsubcmd: Fix use-after-free for realloc(..., 0)").
	{kind: "gcc", kernel: Version{5, 17}, from: Version{12}, make: []string{"WERROR=0"}, note: "gcc 12 warns of objtool's code, which makes errors of warnings"},
	// C23 is the default since gcc 15: bool, true and false are words of the
	// language. The parts of the kernel that are built without -std= do not
	// take KCFLAGS either.
	{kind: "gcc", kernel: Version{6, 14}, from: Version{15}, cc: "-std=gnu11", note: "gcc 15 speaks C23 where it is not told otherwise"},

	{kind: "gcc", since: Version{6, 16}, before: Version{8, 1}, impossible: "kernels from 6.16 on want gcc 8.1 at least"},
	{kind: "gcc", since: Version{5, 15}, kernel: Version{6, 16}, before: Version{5, 1}, impossible: "kernels from 5.15 on want gcc 5.1 at least"},
	{kind: "gcc", since: Version{5, 9}, kernel: Version{5, 15}, before: Version{4, 9}, impossible: "kernels from 5.9 on want gcc 4.9 at least"},
	{kind: "clang", since: Version{6, 16}, before: Version{15}, impossible: "kernels from 6.16 on want clang 15 at least"},
	{kind: "clang", since: Version{6, 9}, kernel: Version{6, 16}, before: Version{13, 0, 1}, impossible: "kernels from 6.9 on want clang 13.0.1 at least"},
	{kind: "clang", since: Version{5, 18}, kernel: Version{6, 9}, before: Version{11}, impossible: "kernels from 5.18 on want clang 11 at least"},
	{kind: "clang", kernel: Version{5, 3}, from: Version{1}, impossible: "x86 kernels before 5.3 use asm goto in ways that clang does not know"},
}

// help is what makes a tree build with a compiler that it does not know.
type help struct {
	cc    string
	make  []string
	flags string
	notes []string
}

// fit looks a compiler and a kernel up in the table.
func fit(c Compiler, kernel Version) (help, error) {
	var h help
	for _, b := range bounds {
		if b.kind != c.Kind || !between(kernel, b.since, b.kernel) || !between(c.Version, b.from, b.before) {
			continue
		}
		if b.impossible != "" {
			return h, &fault.Error{Kind: fault.Plan, Reason: "compiler", Err: fmt.Errorf("linux %s cannot be built with %s %s: %s", kernel, c.Kind, c.Version, b.impossible),
				Hint: "name another compiler in the plan, such as cc: gcc-9; Debian's archive has some of each age"}
		}
		h.cc = b.cc
		h.make = append(h.make, b.make...)
		if b.flags != "" {
			h.flags += " " + b.flags
		}
		h.notes = append(h.notes, b.note)
	}
	return h, nil
}

// between says whether v is in [from, to); a zero end is no end.
func between(v, from, to Version) bool {
	return !v.Before(from) && (to == (Version{}) || v.Before(to))
}
