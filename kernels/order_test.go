package kernels

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// indexed makes a kernel from the texts that depmod and the build would write.
func indexed(t *testing.T, texts map[string]string) Artifact {
	t.Helper()
	a := Artifact{Modules: t.TempDir(), Version: "6.1-test"}
	for name, text := range texts {
		put(t, []byte(text), a.ModuleDir(), name)
	}
	return a
}

var someModules = map[string]string{
	// As depmod writes it: all that is needed, the innermost last.
	"modules.dep": `kernel/drivers/scsi/scsi_common.ko:
kernel/drivers/scsi/scsi_mod.ko: kernel/drivers/scsi/scsi_common.ko
kernel/drivers/ata/libata.ko: kernel/drivers/scsi/scsi_mod.ko kernel/drivers/scsi/scsi_common.ko
kernel/drivers/ata/ahci.ko: kernel/drivers/ata/libahci.ko kernel/drivers/ata/libata.ko kernel/drivers/scsi/scsi_mod.ko kernel/drivers/scsi/scsi_common.ko
kernel/drivers/ata/libahci.ko: kernel/drivers/ata/libata.ko kernel/drivers/scsi/scsi_mod.ko kernel/drivers/scsi/scsi_common.ko
kernel/block/mq-deadline.ko.xz:
kernel/lib/libcrc32c.ko:
kernel/crypto/crc32c_generic.ko:
kernel/arch/x86/crypto/crc32c-intel.ko.zst:
kernel/fs/xfs/xfs.ko: kernel/lib/libcrc32c.ko
kernel/a.ko:
kernel/b.ko:
`,
	"modules.softdep": `# Soft dependencies extracted from modules themselves.
softdep libcrc32c pre: crc32c not-there
softdep xfs post: a
softdep a pre: b
softdep b pre: a
`,
	"modules.alias": `# Aliases extracted from modules themselves.
alias crc32c crc32c_generic
alias crc32c crc32c_intel
alias crypto-crc32c crc32c_intel
alias pci:v*d*sv*sd*bc01sc06i01* ahci
alias crc32c gone
`,
	"modules.builtin": "kernel/fs/ext4/ext4.ko\nkernel/block/kyber-iosched.ko\n",
}

func TestOrder(t *testing.T) {
	a := indexed(t, someModules)
	for _, tt := range []struct{ names, want, missing string }{
		{"ahci", "scsi_common scsi_mod libata libahci ahci", ""},
		{"ahci scsi_mod libata", "scsi_common scsi_mod libata libahci ahci", ""},
		{"scsi_mod ahci", "scsi_common scsi_mod libata libahci ahci", ""},
		{"mq_deadline", "mq_deadline", ""},
		{"mq-deadline", "mq_deadline", ""},
		{"xfs", "crc32c_generic crc32c_intel libcrc32c xfs", ""},
		{"crc32c", "crc32c_generic crc32c_intel", ""},
		{"crc32c-intel", "crc32c_intel", ""},
		{"a", "b a", ""}, // a circle is cut
		{"ext4 kyber_iosched", "", ""},
		{"f2fs ahci ext4 zfs", "scsi_common scsi_mod libata libahci ahci", "f2fs zfs"},
		{"", "", ""},
	} {
		order, err := a.Order(strings.Fields(tt.names)...)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range order {
			names = append(names, m.Name)
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("order of %q: %q, want %q", tt.names, got, tt.want)
		}
		missing, err := a.Missing(strings.Fields(tt.names)...)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(missing, " "); got != tt.missing {
			t.Errorf("missing of %q: %q, want %q", tt.names, got, tt.missing)
		}
	}

	got, err := a.Order("xfs")
	if err != nil {
		t.Fatal(err)
	}
	want := []Module{
		{"crc32c_generic", "kernel/crypto/crc32c_generic.ko", nil},
		{"crc32c_intel", "kernel/arch/x86/crypto/crc32c-intel.ko.zst", nil},
		{"libcrc32c", "kernel/lib/libcrc32c.ko", []string{"crc32c_generic", "crc32c_intel"}},
		{"xfs", "kernel/fs/xfs/xfs.ko", []string{"crc32c_generic", "crc32c_intel", "libcrc32c"}},
	}
	if d := cmp.Diff(want, got, cmp.Transformer("", func(s []string) string { return strings.Join(s, " ") })); d != "" {
		t.Error(d)
	}
	files, err := a.Closure("mq-deadline")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"lib/modules/6.1-test/kernel/block/mq-deadline.ko.xz"}, files); d != "" {
		t.Error(d)
	}
}

func TestOrderWithoutModules(t *testing.T) {
	var a Artifact
	if order, err := a.Order("ext4"); order != nil || err != nil {
		t.Errorf("%v, %v", order, err)
	}
	if missing, err := a.Missing("ext4"); missing != nil || err != nil {
		t.Errorf("%v, %v", missing, err)
	}
	if _, err := (Artifact{Modules: t.TempDir(), Version: "6.1"}).Order("ext4"); err == nil {
		t.Error("no error without modules.dep")
	}
}

func TestArtifactLacks(t *testing.T) {
	a := indexed(t, someModules)
	a.Config = put(t, []byte(`CONFIG_BLK_DEV_INITRD=y
CONFIG_DEVTMPFS=y
CONFIG_TMPFS=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_BLK=y
CONFIG_VIRTIO_CONSOLE=y
CONFIG_SQUASHFS=y
CONFIG_SQUASHFS_LZ4=y
CONFIG_OVERLAY_FS=y
CONFIG_SERIAL_8250_CONSOLE=y
CONFIG_XFS_FS=m
CONFIG_BTRFS_FS=m
CONFIG_EXT4_FS=y
CONFIG_EXT4_USE_FOR_EXT2=y
# CONFIG_F2FS_FS is not set
`), t.TempDir(), "config")
	for _, tt := range []struct {
		need Need
		want []string
	}{
		{Need{}, nil},
		{Need{Filesystem: "xfs"}, nil},
		{Need{Filesystem: "ext2"}, nil},
		{Need{Filesystem: "f2fs"}, []string{"f2fs: CONFIG_F2FS_FS is not set"}},
		{Need{Filesystem: "btrfs"}, []string{"btrfs: CONFIG_BTRFS_FS=m, and its module btrfs was not given"}},
	} {
		got, err := a.Lacks(tt.need)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%+v: %s", tt.need, d)
		}
	}
	a.Modules = ""
	got, err := a.Lacks(Need{Filesystem: "xfs"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"xfs: CONFIG_XFS_FS=m, and its module xfs was not given"}, got); d != "" {
		t.Error(d)
	}
	if unpack, err := a.Unpack(); err != nil || !unpack {
		t.Errorf("without CONFIG_MODULE_DECOMPRESS: unpack %v, %v", unpack, err)
	}
}

func TestReadIndexErrors(t *testing.T) {
	for name, text := range map[string]string{
		"modules.dep":     "kernel/a.ko:\nno colon\n",
		"modules.softdep": "softdep a pre: b\nhard a\n",
		"modules.alias":   "alias a b\nalias a\n",
	} {
		texts := map[string]string{"modules.dep": ""}
		texts[name] = text
		a := indexed(t, texts)
		if _, err := readIndex(a.ModuleDir()); err == nil || !strings.Contains(err.Error(), filepath.Join(a.ModuleDir(), name)+": line 2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzIndex(f *testing.F) {
	f.Add(someModules["modules.dep"], someModules["modules.softdep"], someModules["modules.alias"])
	f.Add("a.ko: a.ko", "softdep a pre: a post:", "alias a a")
	f.Fuzz(func(t *testing.T, dep, soft, alias string) {
		x := newIndex()
		if x.parse("modules.dep", dep) != nil || x.parse("modules.softdep", soft) != nil || x.parse("modules.alias", alias) != nil {
			return
		}
		var names []string
		for name := range x.files {
			names = append(names, name)
		}
		at := make(map[string]int)
		for i, name := range x.order(names) {
			if _, twice := at[name]; twice {
				t.Errorf("%s is there twice", name)
			}
			at[name] = i
		}
		if len(at) != len(x.files) {
			t.Errorf("%d of %d modules", len(at), len(x.files))
		}
	})
}
