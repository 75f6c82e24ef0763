package kernels

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
	"spindle/internal/proc/proctest"
)

const testVersion = "6.12.9-test"

// plainImage is a bzImage of CONFIG_KERNEL_UNCOMPRESSED.
func plainImage(notes []note, content []byte) []byte {
	return makeImage(testVersion, append(makeELF(amd64, notes, content), 0, 0, 0, 0))
}

// installed makes a tree as make modules_install leaves it.
func installed(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "lib", "modules", testVersion)
	put(t, makeModule("license=GPL\x00depends=\x00alias=crypto-crc32c\x00alias=crc32c\x00name=crc32c_generic\x00"), dir, "kernel/crypto/crc32c_generic.ko")
	put(t, makeModule("license=GPL\x00depends=\x00softdep=pre: crc32c\x00name=ext4\x00"), dir, "kernel/fs/ext4/ext4.ko")
	put(t, []byte("kernel/crypto/crc32c_generic.ko\nkernel/fs/ext4/ext4.ko\n"), dir, "modules.order")
	put(t, []byte("kernel/fs/xfs/xfs.ko\n"), dir, "modules.builtin")
	put(t, []byte("xfs.license=GPL\x00"), dir, "modules.builtin.modinfo")
	put(t, []byte("stale nonsense of another depmod\n"), dir, "modules.dep")
	if err := os.Symlink("/usr/src/linux", filepath.Join(dir, "build")); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestFromPath(t *testing.T) {
	proctest.Need(t, "depmod")
	env := Env{Store: openStore(t)}
	root := installed(t)
	path := put(t, plainImage([]note{pvhNote}, nil), t.TempDir(), "bzImage")
	config := "CONFIG_EXT4_FS=m\nCONFIG_XFS_FS=y\n"
	put(t, []byte(config), filepath.Dir(path), "config-"+testVersion)

	a, err := Make(t.Context(), env, Source{Path: path, Modules: root})
	if err != nil {
		t.Fatal(err)
	}
	if a.Version != testVersion || a.Source != path || a.Boot != filepath.Join(a.Dir, "vmlinux") || len(a.Hash) != 64 {
		t.Errorf("%+v", a)
	}
	if c, err := a.ReadConfig(); err != nil || !c.Has("XFS_FS") {
		t.Errorf("configuration %v, %v", c, err)
	}
	if got, err := os.ReadFile(a.Boot); err != nil || !bytes.HasPrefix(got, []byte("\x7fELF")) {
		t.Errorf("vmlinux: %.10q, %v", got, err)
	}
	// The softdep and the alias went through depmod.
	order, err := a.Order("ext4", "xfs")
	if err != nil {
		t.Fatal(err)
	}
	want := []Module{
		{"crc32c_generic", "kernel/crypto/crc32c_generic.ko", []string{}},
		{"ext4", "kernel/fs/ext4/ext4.ko", []string{"crc32c_generic"}},
	}
	if d := cmp.Diff(want, order); d != "" {
		t.Error(d)
	}
	if _, err := os.Lstat(filepath.Join(a.ModuleDir(), "build")); err == nil {
		t.Error("the link to the source came along")
	}
	if _, err := os.Lstat(filepath.Join(a.Modules, "usr")); err == nil {
		t.Error("depmod's link stayed")
	}

	for _, same := range []Source{
		{Path: path, Modules: filepath.Join(root, "lib/modules")},
		{Path: path, Modules: filepath.Join(root, "lib/modules", testVersion)},
	} {
		if b, err := Make(t.Context(), env, same); err != nil || b != a {
			t.Errorf("%+v: %+v, %v", same, b, err)
		}
	}
	// The same files elsewhere: another entry, the same kernel.
	elsewhere := put(t, plainImage([]note{pvhNote}, nil), t.TempDir(), "vmlinuz")
	put(t, []byte(config), filepath.Dir(elsewhere), "config-"+testVersion)
	b, err := Make(t.Context(), Env{Store: openStore(t)}, Source{Path: elsewhere, Modules: root})
	if err != nil || b.Hash != a.Hash || b.Source != elsewhere {
		t.Errorf("elsewhere: %+v, %v", b, err)
	}
	// Any difference makes another kernel, and leaves the first alone.
	put(t, makeModule("license=GPL\x00name=ext4\x00"), root, "lib/modules", testVersion, "kernel/fs/ext4/ext4.ko")
	c, err := Make(t.Context(), env, Source{Path: path, Modules: root})
	if err != nil || c.Hash == a.Hash || c.Dir == a.Dir {
		t.Errorf("changed module: %+v, %v", c, err)
	}
	d, err := Make(t.Context(), env, Source{Path: path})
	if err != nil || d.Hash == a.Hash || d.Modules != "" {
		t.Errorf("without modules: %+v, %v", d, err)
	}
}

func TestFindConfig(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte("CONFIG_FROM=\"image\"\n"))
	w.Close()
	with := plainImage(nil, []byte("IKCFG_ST"+z.String()+"IKCFG_ED"))
	without := plainImage(nil, nil)
	for _, tt := range []struct {
		name  string
		image []byte
		age   time.Duration // of .config, counted from the image
		files []string
		want  string
	}{
		{"inside", with, -time.Hour, []string{"arch/x86/boot/config-" + testVersion, ".config"}, "image"},
		{"beside", without, -time.Hour, []string{"arch/x86/boot/config-" + testVersion, ".config"}, "arch/x86/boot/config-" + testVersion},
		{"another version beside", without, 0, []string{"arch/x86/boot/config-6.12.8"}, ""},
		{"in the tree", without, -time.Hour, []string{".config"}, ".config"},
		{"configured since", without, time.Hour, []string{".config"}, ""},
		{"nowhere", without, 0, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := t.TempDir()
			path := put(t, tt.image, tree, "arch/x86/boot/bzImage")
			for _, f := range tt.files {
				name := put(t, []byte("CONFIG_FROM=\""+f+"\"\n"), tree, f)
				at := time.Now().Add(tt.age)
				if err := os.Chtimes(name, at, at); err != nil {
					t.Fatal(err)
				}
			}
			a, err := Make(t.Context(), Env{Store: openStore(t)}, Source{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			c, err := a.ReadConfig()
			if err != nil || c.Value("FROM") != tt.want || (c == nil) != (tt.want == "") {
				t.Errorf("configuration %v, %v; want that of %q", c, err, tt.want)
			}
			if a.Boot != a.BzImage {
				t.Errorf("boots %s without an entry for PVH", a.Boot)
			}
		})
	}
}

func TestPathErrors(t *testing.T) {
	dir := t.TempDir()
	image := put(t, plainImage(nil, nil), dir, "bzImage")
	other := t.TempDir()
	put(t, nil, other, "lib/modules/6.1.0/modules.order")
	for _, tt := range []struct {
		source Source
		want   string
	}{
		{Source{Path: filepath.Join(dir, "missing")}, "make bzImage"},
		{Source{Path: dir}, filepath.Join(dir, "arch/x86/boot/bzImage")},
		{Source{Path: put(t, makeELF(amd64, nil, make([]byte, 1000)), dir, "vmlinux")}, "is an ELF file"},
		{Source{Path: image, Modules: other}, "none for " + testVersion},
		{Source{Path: image, Modules: filepath.Join(other, "lib/modules/6.1.0")}, "are those of 6.1.0, the bzImage is " + testVersion},
		{Source{Path: image, Modules: filepath.Join(other, "nothing")}, "no such file"},
	} {
		_, err := Make(t.Context(), Env{Store: openStore(t)}, tt.source)
		if err == nil || !strings.Contains(err.Error(), tt.want) || fault.Of(err) != fault.Plan {
			t.Errorf("%+v: error %v, want the plan's: %q", tt.source, err, tt.want)
		}
	}
}

func TestSourceValidate(t *testing.T) {
	for _, tt := range []struct {
		source Source
		want   string // how the error begins; "" for none
	}{
		{Source{Deb: "linux-image-6.12-amd64"}, ""},
		{Source{Deb: "linux-image-6.12.57+deb13-amd64=6.12.57-1~bpo12+1"}, ""},
		{Source{Path: "bzImage"}, ""},
		{Source{Path: "bzImage", Modules: "root"}, ""},
		{Source{}, "wants a package"},
		{Source{Modules: "root"}, "modules: "},
		{Source{Deb: "linux-image-amd64", Path: "bzImage"}, "path: "},
		{Source{Deb: "linux-image-amd64", Modules: "root"}, "modules: "},
		{Source{Deb: "linux-image-amd64="}, "deb "},
		{Source{Deb: "-o=x"}, "deb "},
		{Source{Deb: "Linux 6.12"}, "deb "},
		{Source{Deb: "bash"}, "deb bash: "},
		{Source{Deb: "linux-headers-amd64"}, "deb linux-headers-amd64: "},
		{Source{Deb: "linux-image-amd64-signed-template=1"}, "deb linux-image-amd64-signed-template=1: "},
		{Source{Deb: "linux-image-6.12.57+deb13-amd64-dbg"}, "deb linux-image-6.12.57+deb13-amd64-dbg: "},
	} {
		err := tt.source.Validate()
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%+v: %v", tt.source, err)
		case tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)):
			t.Errorf("%+v: error %v, want one that begins with %q", tt.source, err, tt.want)
		}
	}
}
