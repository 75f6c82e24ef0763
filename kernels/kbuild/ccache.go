package kbuild

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"spindle/internal/proc"
)

// launcherText is the script that stands before the compiler. ccache in its
// depend mode does not see files that the assembler takes in (.incbin): of two
// kernels whose compressed images have one length, arch/x86/boot/compressed/piggy.S
// has the same text, and the second bzImage would hold the first kernel. Such
// sources are compiled without it; they are few, and quick.
//
//go:embed ccache.sh
var launcherText string

// launcher makes the script and gives its path; "" where there is no ccache, or
// none is wanted.
func (b build) launcher() (string, error) {
	ccache, err := proc.LookPath("ccache")
	if err != nil || b.env.NoCache {
		return "", nil
	}
	path := filepath.Join(b.env.Dir, "cc")
	text := "#!/bin/sh\nccache=" + ccache + "\n" + launcherText
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return path, nil
	}
	// Other lanes may run it right now.
	f, err := os.CreateTemp(b.env.Dir, "cc-")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	if _, err = f.WriteString(text); err == nil {
		err = f.Chmod(0o755)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return path, nil
}

// ccache has a directory of its own, so that a user's is neither filled nor
// trusted. It must not make paths relative (CCACHE_BASEDIR): the compiler would
// see other names than without it, and write them into the kernel.
//
// It runs in its depend mode, in which it does not preprocess before it
// compiles: of what compiling four of the kernel's large files takes, an empty
// cache then costs 3 percent more, and 36 percent otherwise.
func (b build) ccache() []string {
	return []string{
		"CCACHE_DIR=" + filepath.Join(b.env.Dir, "ccache"), "CCACHE_CONFIGPATH=/dev/null",
		"CCACHE_DEPEND=1", "CCACHE_MAXSIZE=5G",
		"CCACHE_BASEDIR", "CCACHE_NOHASHDIR", "CCACHE_SLOPPINESS", "CCACHE_COMPILERCHECK", "CCACHE_DISABLE", "CCACHE_PREFIX", "CCACHE_READONLY", "CCACHE_RECACHE", "CCACHE_REMOTE_STORAGE",
	}
}
