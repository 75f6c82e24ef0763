package kmod

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// list is what a Debian 6.12 guest gets, shortened.
const list = `{"release": "6.12.57+deb13-amd64", "order": [
	{"name": "scsi_common", "file": "kernel/drivers/scsi/scsi_common.ko.xz", "deps": []},
	{"name": "scsi_mod", "file": "kernel/drivers/scsi/scsi_mod.ko.xz", "deps": ["scsi_common"]},
	{"name": "libata", "file": "kernel/drivers/ata/libata.ko.xz", "deps": ["scsi_mod"]},
	{"name": "libahci", "file": "kernel/drivers/ata/libahci.ko.xz", "deps": ["libata"]},
	{"name": "ahci", "file": "kernel/drivers/ata/ahci.ko.xz", "deps": ["libahci", "libata"]},
	{"name": "crc32c_generic", "file": "kernel/crypto/crc32c_generic.ko"},
	{"name": "mq_deadline", "file": "kernel/block/mq-deadline.ko"},
	{"name": "kyber-iosched", "file": "kernel/block/kyber-iosched.ko"},
	{"name": "xfs", "file": "kernel/fs/xfs/xfs.ko.xz", "deps": ["libcrc32c"]}
]}`

func decode(t *testing.T) List {
	t.Helper()
	l, err := Decode([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func names(ms []Module) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.Name)
	}
	return out
}

func TestClosure(t *testing.T) {
	l := decode(t)
	for _, tt := range []struct {
		ask, want []string
	}{
		{[]string{"ahci"}, []string{"scsi_common", "scsi_mod", "libata", "libahci", "ahci"}},
		{[]string{"mq-deadline"}, []string{"mq_deadline"}},
		{[]string{"kyber_iosched"}, []string{"kyber-iosched"}},
		{[]string{"xfs", "libahci"}, []string{"scsi_common", "scsi_mod", "libata", "libahci", "xfs"}},
		{[]string{"ext4"}, nil}, // built in
	} {
		if diff := cmp.Diff(tt.want, names(l.Closure(tt.ask...))); diff != "" {
			t.Errorf("Closure(%q) (-want +got):\n%s", tt.ask, diff)
		}
	}
}

func TestAlias(t *testing.T) {
	l := decode(t)
	for alias, want := range map[string]string{
		"fs-xfs":              "xfs",
		"crypto-crc32c":       "crc32c_generic",
		"mq-deadline-iosched": "mq_deadline", // as the list spells it
		"kyber-iosched":       "kyber-iosched",
		"kyber":               "kyber-iosched",
		"net-pf-10":           "",
	} {
		if got := l.Alias(alias); got != want {
			t.Errorf("Alias(%q) = %q, want %q", alias, got, want)
		}
	}
}

// While lib/crc64-rocksoft.c is loaded it asks for crypto-crc64-rocksoft. To
// answer with itself, or to load what is being loaded, would wait for ever.
func TestAskedByWhatIsBeingLoaded(t *testing.T) {
	l := List{Order: []Module{{Name: "crc64_rocksoft", File: "a.ko"}, {Name: "crc64_rocksoft_generic", File: "b.ko"}}}
	if got := l.Alias("crypto-crc64-rocksoft"); got != "crc64_rocksoft_generic" {
		t.Errorf("Alias = %q, want the implementation", got)
	}
	sys := t.TempDir()
	coming := filepath.Join(sys, "module", "crc64_rocksoft")
	if err := os.MkdirAll(coming, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(coming, "initstate"), []byte("coming\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	loader := Loader{List: l, Sys: sys, Dir: t.TempDir(), Cmdline: "quiet", Finit: func(*os.File, string, int) error {
		t.Error("loaded a module that is being loaded")
		return nil
	}}
	if loaded, err := loader.Load("crc64_rocksoft"); err != nil || len(loaded) > 0 {
		t.Errorf("Load = %v, %v; want nothing to do", loaded, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, bad := range []string{
		``,
		`{"order": [{"name": "", "file": "a.ko"}]}`,
		`{"order": [{"name": "a"}]}`,
		`{"order": [{"name": "a", "file": "../../etc/passwd"}]}`,
		`{"order": [{"name": "a", "file": "/etc/passwd"}]}`,
	} {
		if l, err := Decode([]byte(bad)); err == nil {
			t.Errorf("Decode(%q) = %v", bad, l)
		}
	}
}

func TestLoad(t *testing.T) {
	l := decode(t)
	dir := t.TempDir()
	for _, m := range l.Order {
		path := filepath.Join(dir, m.File)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(m.Name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	type call struct {
		Name  string
		Flags int
	}
	var calls []call
	kernel := map[string]bool{"scsi_common": true}
	loader := Loader{List: l, Dir: dir, Cmdline: "quiet", Finit: func(f *os.File, _ string, flags int) error {
		text, err := os.ReadFile(f.Name())
		if err != nil {
			return err
		}
		calls = append(calls, call{string(text), flags})
		switch {
		case kernel[string(text)]:
			return unix.EEXIST
		case string(text) == "crc32c_generic":
			return unix.ENODEV
		case string(text) == "xfs":
			return unix.EINVAL
		}
		kernel[string(text)] = true
		return nil
	}}
	loaded, err := loader.Load("libata", "crc32c_generic", "mq-deadline")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"scsi_mod", "libata", "mq_deadline"}, loaded); diff != "" {
		t.Errorf("loaded (-want +got):\n%s", diff)
	}
	want := []call{{"scsi_common", 4}, {"scsi_mod", 4}, {"libata", 4}, {"crc32c_generic", 0}, {"mq_deadline", 0}}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("finit_module (-want +got):\n%s", diff)
	}
	if _, err := loader.Load("xfs"); err == nil || !strings.Contains(err.Error(), "load module xfs: invalid argument (xfs.ko.xz is compressed") {
		t.Errorf("a kernel without decompression: %v", err)
	}
}

func TestParams(t *testing.T) {
	cmdline := "console=ttyS0 libata.force=max_sec_lba48 scsi-mod.scan=sync libata.noacpi=1 a=libata.force=x\n"
	for module, want := range map[string]string{
		"libata":   "force=max_sec_lba48 noacpi=1",
		"scsi_mod": "scan=sync",
		"ahci":     "",
	} {
		if got := Params(cmdline, module); got != want {
			t.Errorf("Params for %s = %q, want %q", module, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(list))
	f.Add([]byte(`{"order": [{"name": "a", "file": "a.ko", "deps": ["b"]}, {"name": "b", "file": "b.ko", "deps": ["a"]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Decode(data)
		if err != nil {
			return
		}
		for _, m := range l.Order {
			l.Closure(m.Name) // ends, also where modules need each other
			l.Alias("crypto-" + m.Name)
		}
	})
}
