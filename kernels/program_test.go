package kernels

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spindle/internal/fault"
)

// testProgram is what is looked at in a kernel for um.
const testProgram = "\x7fELF...\x00Linux version 6.12.9-um (a@b) (gcc 12)\x00tt-seed=\x00"

func TestFromProgram(t *testing.T) {
	env := Env{Store: openStore(t)}
	dir := t.TempDir()
	put(t, []byte("CONFIG_EXT4_FS=y\nCONFIG_VIRTIO_UML=y\n"), dir, ".config")
	path := put(t, []byte(testProgram), dir, "linux")
	a, err := Make(t.Context(), env, Source{Path: path, Arch: "um"})
	if err != nil {
		t.Fatal(err)
	}
	if a.Version != "6.12.9-um" || a.Arch != "um" || a.Boot != filepath.Join(a.Dir, "linux") || a.BzImage != "" || len(a.Hash) != 64 {
		t.Errorf("%+v", a)
	}
	if info, err := os.Stat(a.Boot); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("the program cannot be run: %v, %v", info, err)
	}
	lacks, err := a.Lacks(Need{Filesystem: "xfs"})
	if err != nil || !strings.Contains(strings.Join(lacks, "\n"), "CONFIG_XFS_FS is not set") {
		t.Errorf("lacks %q, %v", lacks, err)
	}
}

func TestFromProgramRefused(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"bzImage": {string(plainImage(nil, nil)), "is no kernel built with make ARCH=um"},
		"a shell": {"\x7fELF and more", "is no kernel built with make ARCH=um"},
		"stock":   {strings.ReplaceAll(testProgram, "tt-seed=", "time-travel="), "without spindle's patch"},
	} {
		path := put(t, []byte(tt.text), t.TempDir(), "linux")
		_, err := Make(t.Context(), Env{Store: openStore(t)}, Source{Path: path, Arch: "um"})
		if fault.Of(err) != fault.Plan || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one of the plan with %q", name, err, tt.want)
		}
	}
	for _, tt := range []struct {
		s    Source
		want string
	}{
		{Source{Deb: "linux-image-6.12-amd64", Arch: "um"}, "arch: um: is for source code"},
		{Source{Path: "linux", Arch: "arm64"}, "arch: arm64: is for source code"},
		{Source{Path: "linux", Arch: "um", Modules: "mods"}, "has all built in"},
	} {
		if err := tt.s.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.s, err, tt.want)
		}
	}
}
