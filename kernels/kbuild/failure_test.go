package kbuild

import (
	"strings"
	"testing"
)

// The outputs are what the programs print, with paths of a lane.
func TestDiagnose(t *testing.T) {
	const src, obj = "/c/lanes/x/src", "/c/lanes/x/obj"
	for name, tt := range map[string]struct {
		output string
		want   string
		file   string
		line   int
		host   string // why it is the host's; "" for the source's
		hint   string
	}{
		"gcc": {`/c/lanes/x/src/mm/page-writeback.c: In function 'balance_dirty_pages':
/c/lanes/x/src/mm/page-writeback.c:1742:9: warning: unused variable 'x' [-Wunused-variable]
/c/lanes/x/src/mm/page-writeback.c:1751:17: error: 'undeclared' undeclared (first use in this function)
make[4]: *** [/c/lanes/x/src/scripts/Makefile.build:244: mm/page-writeback.o] Error 1
make[4]: *** Waiting for unfinished jobs....
/c/lanes/x/src/mm/vmscan.c:1:1: error: later
make: *** [Makefile:234: __sub-make] Error 2`,
			"mm/page-writeback.c:1751: error: 'undeclared' undeclared (first use in this function)", "mm/page-writeback.c", 1751, "", ""},
		"gcc, relative": {"../mm/vmscan.c:12:1: error: expected ';' before '}' token", "mm/vmscan.c:12: error: expected ';' before '}' token", "mm/vmscan.c", 12, "", ""},
		"clang":         {"block/blk-wbt.c:77:2: fatal error: 'nothing.h' file not found", "block/blk-wbt.c:77: error: 'nothing.h' file not found", "block/blk-wbt.c", 77, "", ""},
		"assembler":     {"/c/lanes/x/src/arch/x86/entry/entry_64.S:99: Error: no such instruction: `foo'", "arch/x86/entry/entry_64.S:99: error: no such instruction: `foo'", "arch/x86/entry/entry_64.S", 99, "", ""},
		"generated":     {"./include/generated/x.h:3:1: error: unknown type name 'u9'", "include/generated/x.h:3: error: unknown type name 'u9'", "include/generated/x.h", 3, "", ""},
		"linker": {"ld: mm/page-writeback.o: in function `balance_dirty_pages':\npage-writeback.c:(.text+0x123): undefined reference to `wbt_wait'\nmake[2]: *** [scripts/Makefile.vmlinux:34: vmlinux] Error 1",
			"page-writeback.c: undefined reference to `wbt_wait'", "page-writeback.c", 0, "", ""},
		"modpost":  {"ERROR: modpost: \"wbt_wait\" [block/foo.ko] undefined!\nmake: *** [x] Error 1", "\"wbt_wait\" [block/foo.ko] undefined!", "", 0, "", ""},
		"no rule":  {"make[3]: *** No rule to make target 'mm/nothing.o', needed by 'mm/built-in.a'.  Stop.\nmake: *** [Makefile:1: mm] Error 2", "No rule to make target 'mm/nothing.o', needed by 'mm/built-in.a'.  Stop.", "", 0, "", ""},
		"Makefile": {"/c/lanes/x/src/mm/Makefile:12: *** missing separator.  Stop.", "missing separator.  Stop.", "", 0, "", ""},
		"no openssl": {"/c/lanes/x/src/scripts/sign-file.c:25:10: fatal error: openssl/opensslv.h: No such file or directory\n   25 | #include <openssl/opensslv.h>",
			"scripts/sign-file.c:25: error: openssl/opensslv.h: No such file or directory", "scripts/sign-file.c", 25, "a header is missing", "libssl-dev"},
		"no libelf":     {"/c/lanes/x/src/tools/objtool/include/objtool/elf.h:10:10: fatal error: gelf.h: No such file or directory", "tools/objtool/include/objtool/elf.h:10: error: gelf.h: No such file or directory", "tools/objtool/include/objtool/elf.h", 10, "a header is missing", "libelf-dev"},
		"no flex":       {"/bin/sh: 1: flex: not found\nmake[1]: *** [scripts/Makefile.host:9: scripts/kconfig/lexer.lex.c] Error 127", "program flex is not there", "", 0, "a program is missing", "install flex"},
		"out of memory": {"gcc: fatal error: Killed signal terminated program cc1\ncompilation terminated.\nmake[3]: *** [x] Error 1", "gcc: fatal error: Killed signal terminated program cc1", "", 0, "the compiler broke down", "memory"},
		"full disk":     {"fs/ext4/inode.c:12:1: fatal error: error writing to /tmp/ccX.s: No space left on device\nmake[3]: *** [x] Error 1", "fs/ext4/inode.c:12: fs/ext4/inode.c:12:1: fatal error: error writing to /tmp/ccX.s: No space left on device", "fs/ext4/inode.c", 12, "the disk is full", ""},
		"ICE":           {"mm/slub.c:3:1: internal compiler error: Segmentation fault\nmake[3]: *** [x] Error 1", "mm/slub.c:3:1: internal compiler error: Segmentation fault", "", 0, "the compiler broke down", ""},
		"nothing":       {"", "make failed and said nothing", "", 0, "", ""},
		"words":         {"something went wrong\nmake: *** [Makefile:1: x] Error 2\n", "something went wrong", "", 0, "", ""},
	} {
		f := diagnose(strings.Split(tt.output, "\n"), src, obj)
		if f.String() != tt.want || f.File != tt.file || f.Line != tt.line || f.Host != tt.host || !strings.Contains(f.Hint, tt.hint) {
			t.Errorf("%s:\n got %q (%s:%d), host %q, hint %q\nwant %q", name, f, f.File, f.Line, f.Host, f.Hint, tt.want)
		}
	}
}

func FuzzDiagnose(f *testing.F) {
	f.Add("/c/src/mm/x.c:1:2: error: y\nmake: *** [x] Error 1")
	f.Add("ld: a.o: in function `b':\nx.c:(.text+0x1): undefined reference to `c'")
	f.Add("  CC      mm/x.o\n\x00\xff:::::1:")
	f.Fuzz(func(t *testing.T, text string) {
		o := &output{}
		o.Write([]byte(text))
		d := diagnose(o.said(), "/c/src", "/c/obj")
		if d.Message == "" && strings.TrimSpace(text) == "" {
			t.Error("no message")
		}
		_ = d.String()
	})
}

func TestOutput(t *testing.T) {
	var steps []string
	o := &output{step: func(what string) { steps = append(steps, what) }}
	for _, piece := range []string{"  CC      mm/x.o\n  CC [M]  fs/", "xfs/xfs.o\n  HOSTCC  scripts/kconfig/conf.o\n", "mm/x.c:1: warning: w\n  AS      arch/x86/entry.o\n  LD      vmlinux\nlast"} {
		o.Write([]byte(piece))
	}
	if got := strings.Join(steps, " "); got != "mm/x.o fs/xfs/xfs.o arch/x86/entry.o" || o.done != 3 {
		t.Errorf("%d: %s", o.done, got)
	}
	if got := strings.Join(o.said(), "|"); got != "mm/x.c:1: warning: w|last" {
		t.Errorf("%q", got)
	}
	for range 3 * keptLines {
		o.Write([]byte("noise\n"))
	}
	if said := o.said(); len(said) > keptLines || said[0] != "mm/x.c:1: warning: w" {
		t.Errorf("%d lines, the first %q", len(said), said[0])
	}
}
