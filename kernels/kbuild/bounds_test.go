package kbuild

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
)

// Expected values are from the commits and the page that the table names.
func TestFit(t *testing.T) {
	for _, tt := range []struct {
		kind             string
		compiler, kernel Version
		make             string // variables
		flags, cc        string
		err              string
	}{
		{kind: "gcc", compiler: Version{12, 2}, kernel: Version{6, 12}},
		{kind: "gcc", compiler: Version{12, 2}, kernel: Version{6, 1}},
		{kind: "gcc", compiler: Version{12, 2}, kernel: Version{5, 10}, make: "WERROR=0"},
		{kind: "gcc", compiler: Version{12, 2}, kernel: Version{4, 20}, make: "HOSTCFLAGS=-fcommon WERROR=0"},
		{kind: "gcc", compiler: Version{12, 2}, kernel: Version{4, 6}, make: "HOSTCFLAGS=-fcommon WERROR=0", flags: " -fno-pie"},
		{kind: "gcc", compiler: Version{12, 2}, kernel: Version{4, 1, 52}, err: "linux 4.1.52 cannot be built with gcc 12.2: "},
		{kind: "gcc", compiler: Version{5, 4}, kernel: Version{4, 1}},
		{kind: "gcc", compiler: Version{15, 1}, kernel: Version{6, 12}, cc: "-std=gnu11"},
		{kind: "gcc", compiler: Version{15, 1}, kernel: Version{6, 15}},
		{kind: "gcc", compiler: Version{7, 5}, kernel: Version{6, 16}, err: "want gcc 8.1 at least"},
		{kind: "gcc", compiler: Version{4, 9, 4}, kernel: Version{5, 15}, err: "want gcc 5.1 at least"},
		{kind: "gcc", compiler: Version{4, 8}, kernel: Version{5, 9}, err: "want gcc 4.9 at least"},
		{kind: "gcc", compiler: Version{4, 9, 4}, kernel: Version{4, 19}},
		{kind: "clang", compiler: Version{14, 0, 6}, kernel: Version{6, 12}},
		{kind: "clang", compiler: Version{14, 0, 6}, kernel: Version{6, 16}, err: "want clang 15 at least"},
		{kind: "clang", compiler: Version{14, 0, 6}, kernel: Version{4, 19}, err: "asm goto"},
	} {
		h, err := fit(Compiler{Kind: tt.kind, Version: tt.compiler}, tt.kernel)
		name := tt.kind + " " + tt.compiler.String() + ", linux " + tt.kernel.String()
		if (err == nil) != (tt.err == "") || err != nil && (!strings.Contains(err.Error(), tt.err) || fault.Of(err) != fault.Plan) {
			t.Errorf("%s: %v, want %q", name, err, tt.err)
		}
		if err == nil && (strings.Join(h.make, " ") != tt.make || h.flags != tt.flags || h.cc != tt.cc) {
			t.Errorf("%s: %+v", name, h)
		}
		if err == nil && (tt.make+tt.flags+tt.cc == "") != (len(h.notes) == 0) {
			t.Errorf("%s: notes %q", name, h.notes)
		}
	}
}

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]Version{ // first lines of real compilers, without gcc's parenthesis
		"12.2.0": {12, 2, 0}, "Debian clang version 14.0.6": {14, 0, 6}, "5.1.0\n": {5, 1, 0}, "clang version 18.1.3 (1ubuntu1)": {18, 1, 3},
	} {
		if got, ok := ParseVersion(text); !ok || got != want {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
	if _, ok := ParseVersion("no version"); ok {
		t.Error("a version of nothing")
	}
	got, ok := kernelVersion("# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 57\nEXTRAVERSION =\n")
	if d := cmp.Diff(Version{6, 12, 57}, got); d != "" || !ok {
		t.Error(d)
	}
	if _, ok := kernelVersion("all:\n\tcc x.c\n"); ok {
		t.Error("a kernel's version of a Makefile that has none")
	}
}
