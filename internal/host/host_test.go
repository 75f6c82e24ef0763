package host

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/unit"
)

var update = flag.Bool("update", false, "write the golden files")

func kvm(err error) func(string) error { return func(string) error { return err } }

func free(s unit.Size) func(string) (unit.Size, error) {
	return func(string) (unit.Size, error) { return s, nil }
}

// hosts are the directories of testdata and who asks there.
var hosts = map[string]Env{
	"debian": {Path: []string{"/usr/local/go/bin", "/usr/bin"}, User: "root", CacheDir: "/srv/spindle",
		OpenKVM: kvm(nil), Free: free(500 * unit.GiB)},
	"ubuntu": {Path: []string{"/usr/bin"}, UID: 1001, User: "ann", CacheDir: "/home/ann/.cache/spindle",
		OpenKVM: kvm(fs.ErrNotExist), Free: free(1 * unit.GiB)},
	"fedora": {Path: []string{"/usr/local/bin", "/usr/bin"}, UID: 1000, User: "ann", CacheDir: "/home/ann/.cache/spindle",
		OpenKVM: kvm(&fs.PathError{Op: "open", Path: "/dev/kvm", Err: fs.ErrPermission}), Free: free(5 * unit.GiB)},
	"arch": {Path: []string{"/usr/bin"}, UID: 1000, User: "ann", CacheDir: "/home/ann/.cache/spindle",
		OpenKVM: kvm(errors.New("device or resource busy")),
		Free:    func(string) (unit.Size, error) { return 0, errors.New("statfs /home/ann: permission denied") }},
}

func look(t *testing.T, name string) Report {
	t.Helper()
	env := hosts[name]
	env.Root = filepath.Join("testdata", name)
	r, err := Look(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func missing(r Report) (names []string) {
	for _, n := range r.Missing() {
		names = append(names, n.Name())
	}
	return names
}

func TestLook(t *testing.T) {
	for name, want := range map[string]struct {
		Distribution Distribution
		Missing      []string
		Install      string
		CPUs         int
		Memory       Memory
		KVM          KVM
		Noise        Noise
		Grades       string
	}{
		"debian": {
			Distribution{"debian", "Debian GNU/Linux 12 (bookworm)", Apt},
			[]string{"git", "b4", "make", "gcc", "ld", "flex", "bison", "bc", "perl", "/usr/include/gelf.h", "/usr/include/openssl/opensslv.h", "ccache", "setarch", "fio", "qemu-img", "nbdkit", "tidy", "chromium-headless-shell", "prove", "iostat", "filefrag", "trace-cmd"},
			"apt-get install -y --no-install-recommends b4 bc binutils bison ccache chromium-headless-shell e2fsprogs fio flex gcc git libelf-dev libssl-dev make nbdkit perl perl-base qemu-utils sysstat tidy trace-cmd util-linux",
			4, Memory{24683656 * unit.KiB, 21687476 * unit.KiB}, KVM{State: KVMOpens, Flag: "vmx"},
			Noise{Load1: 0.1, Pressure: true, PressureIO: 0.0007},
			"cpus ok, memory ok, disk ok, kvm ok, load ok, steal ok",
		},
		"ubuntu": {
			Distribution{"ubuntu", "Ubuntu 24.04.3 LTS", Apt},
			[]string{"qemu-system-x86_64", "mmdebstrap", "mksquashfs", "/usr/share/keyrings/debian-archive-keyring.gpg", "newuidmap", "git", "b4", "make", "gcc", "ld", "flex", "bison", "bc", "perl", "/usr/include/gelf.h", "/usr/include/openssl/opensslv.h", "ccache", "go", "setarch", "fio", "qemu-io", "qemu-img", "nbdkit", "nbdinfo", "nbdcopy", "tidy", "chromium-headless-shell", "prove", "unsquashfs", "lz4", "iostat", "filefrag", "trace-cmd"},
			"sudo apt-get install -y --no-install-recommends b4 bc binutils bison ccache debian-archive-keyring e2fsprogs fio flex gcc git libelf-dev libnbd-bin libssl-dev lz4 make mmdebstrap nbdkit perl perl-base qemu-system-x86 qemu-utils squashfs-tools sysstat tidy trace-cmd uidmap util-linux",
			1, Memory{2014656 * unit.KiB, 900000 * unit.KiB}, KVM{State: KVMAbsent},
			Noise{Load1: 1.75, Steal: 0.04, Pressure: true, PressureCPU: 0.3117, PressureIO: 0.125, PressureMemory: 0.02},
			"cpus note, memory problem, disk problem, kvm note, subuid problem, load note, steal note",
		},
		"fedora": {
			Distribution{"fedora", "Fedora Linux 42 (Workstation Edition)", Dnf},
			[]string{"mmdebstrap", "apt-get", "apt-cache", "/usr/share/keyrings/debian-archive-keyring.gpg", "dpkg-deb", "git", "b4", "make", "gcc", "ld", "flex", "bison", "bc", "perl", "/usr/include/gelf.h", "/usr/include/openssl/opensslv.h", "ccache", "setarch", "fio", "qemu-img", "nbdkit", "nbdinfo", "nbdcopy", "tidy", "chromium-headless-shell", "prove", "dpkg", "apt-config", "lzma", "lz4", "iostat", "filefrag", "trace-cmd"},
			"sudo dnf install -y --setopt=install_weak_deps=False apt b4 bc binutils bison ccache debian-keyring dpkg e2fsprogs elfutils-libelf-devel fio-engine-nbd flex gcc git libnbd lz4 make mmdebstrap nbdkit openssl-devel perl-Test-Harness perl-interpreter qemu-img sysstat tidy trace-cmd util-linux xz-lzma-compat",
			8, Memory{32000000 * unit.KiB, 20000000 * unit.KiB}, KVM{KVMPermission, "svm", "open /dev/kvm: permission denied"},
			Noise{Load1: 0.5, Pressure: true, PressureCPU: 0.01},
			"cpus ok, memory ok, disk note, kvm note, subuid ok, load ok, steal ok",
		},
		"arch": {
			Distribution{"arch", "Arch Linux", Pacman},
			[]string{"qemu-system-x86_64", "mmdebstrap", "mksquashfs", "apt-get", "apt-cache", "/usr/share/keyrings/debian-archive-keyring.gpg", "dpkg-deb", "git", "b4", "make", "gcc", "ld", "flex", "bison", "bc", "perl", "/usr/include/gelf.h", "/usr/include/openssl/opensslv.h", "ccache", "go", "setarch", "fio", "qemu-io", "qemu-img", "nbdkit", "nbdinfo", "nbdcopy", "tidy", "chromium-headless-shell", "prove", "dpkg", "unsquashfs", "apt-config", "lz4", "iostat", "filefrag", "trace-cmd"},
			"sudo pacman -S --needed --noconfirm apt b4 bc binutils bison ccache debian-archive-keyring dpkg e2fsprogs fio flex gcc git libelf libnbd lz4 make openssl perl qemu-img qemu-system-x86 squashfs-tools sysstat tidy trace-cmd util-linux",
			2, Memory{16000000 * unit.KiB, 2500000 * unit.KiB}, KVM{KVMBroken, "vmx", "device or resource busy"},
			Noise{},
			"cpus ok, memory note, disk problem, kvm note, subuid problem, load ok, steal ok",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := look(t, name)
			var grades []string
			for _, f := range r.Findings {
				grades = append(grades, fmt.Sprint(f.Topic, " ", f.Grade))
				if f.Grade != OK && f.Means == "" {
					t.Errorf("%s: a %s without a meaning", f.Topic, f.Grade)
				}
				if f.Grade == Problem && f.Do == "" {
					t.Errorf("%s: a problem without a way out", f.Topic)
				}
			}
			got := want
			got.Distribution, got.Missing, got.CPUs, got.Memory, got.KVM = r.Distribution, missing(r), r.CPUs, r.Memory, r.KVM
			got.Noise, got.Grades, got.Install = r.Noise, strings.Join(grades, ", "), strings.Join(r.InstallCommand(r.Missing()), " ")
			if d := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })); d != "" {
				t.Error(d)
			}
			if r.CanInstall() != (r.Distribution.Manager == Apt) {
				t.Error("CanInstall is wrong")
			}
		})
	}
}

func TestText(t *testing.T) {
	for name := range hosts {
		t.Run(name, func(t *testing.T) {
			got := look(t, name).Text()
			for line := range strings.Lines(got) {
				line = strings.TrimSuffix(line, "\n")
				if n := utf8.RuneCountInString(line); n > width {
					t.Errorf("%d columns: %s", n, line)
				}
				if strings.TrimRight(line, " ") != line {
					t.Errorf("blanks at the end: %q", line)
				}
			}
			golden := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestJSONRoundTrip(t *testing.T) {
	r := look(t, "ubuntu")
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(back)
	if err != nil || string(again) != string(text) {
		t.Errorf("%s\nis read back as\n%s\n%v", text, again, err)
	}
	for _, want := range []string{`"memory":{"total":"2014656KiB"`, `"steal":0.04`, `"state":"absent"`, `"subuids":0`, `"topic":"disk"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

func TestLookAtThisHost(t *testing.T) {
	r, err := Look(t.Context(), Env{Path: filepath.SplitList(os.Getenv("PATH")), UID: os.Getuid(), User: "nobody", CacheDir: filepath.Join(t.TempDir(), "not", "yet")})
	if err != nil {
		t.Fatal(err)
	}
	if r.CPUs < 1 || r.Memory.Available <= 0 || r.Memory.Available > r.Memory.Total || r.Disk.Free <= 0 || r.Disk.Error != "" {
		t.Errorf("%+v", r)
	}
}

func TestLookErrors(t *testing.T) {
	if _, err := Look(t.Context(), Env{Root: t.TempDir()}); err == nil || !strings.HasPrefix(err.Error(), "look at host: ") {
		t.Errorf("a host without /proc: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	env := hosts["debian"]
	env.Root, env.Watch = "testdata/debian", time.Hour
	if _, err := Look(ctx, env); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestNoPackagesNoCommand(t *testing.T) {
	r := Report{Distribution: Distribution{Manager: ""}}
	needs := allNeeds()
	if c := r.InstallCommand(needs); c != nil {
		t.Errorf("for no distribution: %q", c)
	}
	r.Distribution.Manager = Apt
	if c := r.InstallCommand(nil); c != nil {
		t.Errorf("for nothing: %q", c)
	}
	r.root = true
	if c := r.InstallCommand(needs[:1]); strings.Join(c, " ") != "apt-get install -y --no-install-recommends qemu-system-x86" {
		t.Errorf("as root: %q", c)
	}
}
