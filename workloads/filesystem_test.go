package workloads

import (
	"strings"
	"testing"
)

func TestMkfs(t *testing.T) {
	for _, tt := range []struct {
		fs      string
		options []string
		want    string
	}{
		{"ext2", nil, "-F -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/sda"},
		{"ext4", []string{"-O", "^has_journal"}, "-F -q -E lazy_itable_init=0,lazy_journal_init=0 -O ^has_journal /dev/sda"},
		// mke2fs keeps the last -E only.
		{"ext4", []string{"-E", "stride=16", "-b", "4096", "-Enodiscard"}, "-F -q -E lazy_itable_init=0,lazy_journal_init=0,stride=16,nodiscard -b 4096 /dev/sda"},
		{"xfs", []string{"-m", "crc=0"}, "-f -q -m crc=0 /dev/sda"},
		{"btrfs", nil, "-f -q /dev/sda"},
		{"f2fs", []string{"-E"}, "-f -q -E /dev/sda"},
	} {
		f, ok := findFilesystem(tt.fs)
		if !ok || f.program != "mkfs."+tt.fs {
			t.Errorf("%s: %+v, %t", tt.fs, f, ok)
		}
		if got := strings.Join(f.mkfs("/dev/sda", tt.options), " "); got != tt.want {
			t.Errorf("%s %q:\n got %s\nwant %s", tt.fs, tt.options, got, tt.want)
		}
	}
}

func TestMountArgs(t *testing.T) {
	if got, want := strings.Join(mountArgs("ext3", "/dev/sda", "/mnt", nil), " "), "-t ext3 /dev/sda /mnt"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := strings.Join(mountArgs("xfs", "/dev/sda", "/mnt", []string{"noatime", "logbsize=256k"}), " "), "-t xfs -o noatime,logbsize=256k /dev/sda /mnt"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestValidFilesystem(t *testing.T) {
	for _, name := range Filesystems() {
		if err := ValidFilesystem(name); err != nil {
			t.Error(err)
		}
	}
	if err := ValidFilesystem(""); err == nil {
		t.Error("an empty name is valid")
	}
}
