package host

import (
	"os"
	"path/filepath"
	"slices"

	"spindle/internal/proc"
)

// Use says how far spindle gets without something.
type Use string

const (
	Required Use = "required" // no sample without it
	Optional Use = "optional" // some plans, or some hosts, go without
	Tests    Use = "tests"    // only spindle's own tests run it
)

// Need is a program or a file that spindle uses on the host.
type Need struct {
	Program  string             `json:"program,omitempty"`
	File     string             `json:"file,omitempty"` // absolute path, where it is not a program
	For      string             `json:"for"`            // what it does for spindle
	Use      Use                `json:"use"`
	Packages map[Manager]string `json:"packages"` // which package has it; none means that it must come from elsewhere
	Hint     string             `json:"hint,omitempty"`

	Path string `json:"path,omitempty"` // where it was found, "" if it was not

	label string // what text calls it, where its name is too long
	user  bool   // ordinary users need it, root does not

	debian bool // apt has the package on Debian, and not on what was made of it
}

// Name gives the program's name or the file's path.
func (n Need) Name() string {
	if n.Program != "" {
		return n.Program
	}
	return n.File
}

// packages gives the table's rows of names in the order of managers.
func packages(apt, dnf, pacman string) map[Manager]string {
	m := map[Manager]string{}
	for manager, name := range map[Manager]string{Apt: apt, Dnf: dnf, Pacman: pacman} {
		if name != "" {
			m[manager] = name
		}
	}
	return m
}

const fromAUR = "Arch has it in the AUR only: aur.archlinux.org/packages/"

// Keyring is where all distributions put the keys of Debian's archive.
const Keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// allNeeds is the table of what spindle uses on hosts. What every system has
// (a shell, coreutils) is not in it.
func allNeeds() []Need {
	return []Need{
		{Program: "qemu-system-x86_64", Use: Required, For: "boots guests",
			Packages: packages("qemu-system-x86", "qemu-system-x86-core", "qemu-system-x86")},
		{Program: "mmdebstrap", Use: Required, For: "installs guests' root file systems",
			Packages: packages("mmdebstrap", "mmdebstrap", ""), Hint: fromAUR + "mmdebstrap"},
		{Program: "mksquashfs", Use: Required, For: "packs guests' root file systems",
			Packages: packages("squashfs-tools", "squashfs-tools", "squashfs-tools")},
		{Program: "apt-get", Use: Required, For: "fetches packages, in a root of its own",
			Packages: packages("apt", "apt", "apt")},
		{Program: "apt-cache", Use: Required, For: "finds versions of kernels",
			Packages: packages("apt", "apt", "apt")},
		{Program: "gpgv", Use: Required, For: "checks signatures of Debian's archive",
			Packages: packages("gpgv", "gnupg2", "gnupg")},
		{File: Keyring, label: "Debian's keyring", Use: Required, For: "has the keys of Debian's archive",
			Packages: packages("debian-archive-keyring", "debian-keyring", "debian-archive-keyring")},
		{Program: "dpkg-deb", Use: Required, For: "unpacks kernel packages",
			Packages: packages("dpkg", "dpkg", "dpkg")},
		{Program: "depmod", Use: Required, For: "finds what kernel modules depend on",
			Packages: packages("kmod", "kmod", "kmod")},
		{Program: "newuidmap", Use: Required, For: "maps ids for ordinary users", user: true,
			Packages: packages("uidmap", "shadow-utils", "shadow")},
		{Program: "xz", Use: Optional, For: "unpacks kernels packed with xz",
			Packages: packages("xz-utils", "xz", "xz")},
		{Program: "git", Use: Optional, For: "applies patches to kernels' source",
			Packages: packages("git", "git", "git")},
		{Program: "b4", Use: Optional, For: "fetches patch series from the lists",
			Packages: packages("b4", "b4", "b4")},
		{Program: "make", Use: Optional, For: "builds kernels",
			Packages: packages("make", "make", "make")},
		{Program: "gcc", Use: Optional, For: "builds kernels",
			Packages: packages("gcc", "gcc", "gcc")},
		{Program: "ld", Use: Optional, For: "builds kernels",
			Packages: packages("binutils", "binutils", "binutils")},
		{Program: "flex", Use: Optional, For: "builds kernels",
			Packages: packages("flex", "flex", "flex")},
		{Program: "bison", Use: Optional, For: "builds kernels",
			Packages: packages("bison", "bison", "bison")},
		{Program: "bc", Use: Optional, For: "builds kernels",
			Packages: packages("bc", "bc", "bc")},
		{Program: "perl", Use: Optional, For: "builds kernels",
			Packages: packages("perl-base", "perl-interpreter", "perl")},
		{Program: "gzip", Use: Optional, For: "packs kernels that are built",
			Packages: packages("gzip", "gzip", "gzip")},
		{File: "/usr/include/gelf.h", label: "libelf's headers", Use: Optional, For: "builds the kernel's objtool",
			Packages: packages("libelf-dev", "elfutils-libelf-devel", "libelf")},
		{File: "/usr/include/openssl/opensslv.h", label: "OpenSSL's headers", Use: Optional, For: "builds kernels with certificates",
			Packages: packages("libssl-dev", "openssl-devel", "openssl")},
		{Program: "ccache", Use: Optional, For: "spares compiling what was compiled before",
			Packages: packages("ccache", "ccache", "ccache")},
		{Program: "go", Use: Optional, For: "builds spindle-guest from source",
			Hint: "only without a spindle-guest beside spindle; get Go from https://go.dev/dl, distributions' own may be too old"},

		{Program: "setarch", Use: Optional, For: "runs kernels as programs, in virtual time",
			Packages: packages("util-linux", "util-linux", "util-linux")},
		{Program: "libvirtd", Use: Optional, For: "runs QEMU where a plan says so",
			Packages: packages("libvirt-daemon", "libvirt-daemon", "libvirt")},
		{File: "/etc/libvirt/qemu.conf", label: "libvirt's QEMU driver", Use: Optional, For: "lets libvirt run QEMU",
			Packages: packages("libvirt-daemon-system", "libvirt-daemon-driver-qemu", "libvirt")},
		{Program: "ssh", Use: Optional, For: "reaches libvirt on another host",
			Packages: packages("openssh-client", "openssh-clients", "openssh")},
		{Program: "wipefs", Use: Optional, For: "finds what is on a disk to pass through",
			Packages: packages("util-linux", "util-linux", "util-linux")},

		{Program: "fio", Use: Optional, For: "measures drives (spindle drive check)",
			Packages: packages("fio", "fio-engine-nbd", "fio")},

		{Program: "qemu-io", Use: Tests, For: "QEMU's NBD client, a peer",
			Packages: packages("qemu-utils", "qemu-img", "qemu-img")},
		{Program: "qemu-img", Use: Tests, For: "QEMU's benchmark of disks, a peer",
			Packages: packages("qemu-utils", "qemu-img", "qemu-img")},
		{Program: "nbdkit", Use: Tests, For: "an NBD server to be compared with",
			Packages: packages("nbdkit", "nbdkit", ""), Hint: fromAUR + "nbdkit"},
		{Program: "nbdinfo", Use: Tests, For: "libnbd's NBD client, a peer",
			Packages: packages("libnbd-bin", "libnbd", "libnbd")},
		{Program: "nbdcopy", Use: Tests, For: "libnbd's copier, a peer",
			Packages: packages("libnbd-bin", "libnbd", "libnbd")},
		{Program: "tidy", Use: Tests, For: "validates HTML",
			Packages: packages("tidy", "tidy", "tidy")},
		{Program: "chromium-headless-shell", Use: Tests, For: "shows HTML, as readers' browsers do", label: "headless Chromium", debian: true,
			Packages: packages("chromium-headless-shell", "", ""), Hint: "Debian has it as a package; elsewhere it is Chromium's own headless_shell"},
		{Program: "prove", Use: Tests, For: "reads TAP, a peer",
			Packages: packages("perl", "perl-Test-Harness", "perl")},
		{Program: "dpkg", Use: Tests, For: "compares versions, a peer",
			Packages: packages("dpkg", "dpkg", "dpkg")},
		{Program: "unsquashfs", Use: Tests, For: "unpacks root file systems, a peer",
			Packages: packages("squashfs-tools", "squashfs-tools", "squashfs-tools")},
		{Program: "cpio", Use: Tests, For: "unpacks initramfs archives, a peer",
			Packages: packages("cpio", "cpio", "cpio")},
		{Program: "modprobe", Use: Tests, For: "orders modules, a peer",
			Packages: packages("kmod", "kmod", "kmod")},
		{Program: "apt-config", Use: Tests, For: "shows what apt makes of a configuration",
			Packages: packages("apt", "apt", "apt")},
		{Program: "bzip2", Use: Tests, For: "packs kernels as their build does",
			Packages: packages("bzip2", "bzip2", "bzip2")},
		{Program: "lzma", Use: Tests, For: "packs kernels as their build does",
			Packages: packages("xz-utils", "xz-lzma-compat", "xz")},
		{Program: "lz4", Use: Tests, For: "packs kernels as their build does",
			Packages: packages("lz4", "lz4", "lz4")},
		{Program: "zstd", Use: Tests, For: "packs kernels as their build does",
			Packages: packages("zstd", "zstd", "zstd")},
		{Program: "losetup", Use: Tests, For: "makes disks of files",
			Packages: packages("mount", "util-linux", "util-linux")},
		{Program: "mount", Use: Tests, For: "mounts what must not be destroyed",
			Packages: packages("mount", "util-linux", "util-linux")},
		{Program: "swapon", Use: Tests, For: "swaps on what must not be destroyed",
			Packages: packages("mount", "util-linux", "util-linux")},
		{Program: "sfdisk", Use: Tests, For: "makes partitions",
			Packages: packages("fdisk", "util-linux", "util-linux")},
		{Program: "iostat", Use: Tests, For: "what the columns made of diskstats are compared with",
			Packages: packages("sysstat", "sysstat", "sysstat")},
		{Program: "sshd", Use: Tests, For: "plays another host",
			Packages: packages("openssh-server", "openssh-server", "openssh")},
		{Program: "ssh-keygen", Use: Tests, For: "makes that host's keys",
			Packages: packages("openssh-client", "openssh", "openssh")},
		{Program: "unshare", Use: Tests, For: "hides the host from a libvirtd",
			Packages: packages("util-linux", "util-linux", "util-linux")},
		{Program: "partx", Use: Tests, For: "shows the kernel partitions",
			Packages: packages("util-linux", "util-linux", "util-linux")},
		{Program: "mkfs.ext4", Use: Tests, For: "makes file systems",
			Packages: packages("e2fsprogs", "e2fsprogs", "e2fsprogs")},
		{Program: "filefrag", Use: Tests, For: "counts the extents that ours are compared with",
			Packages: packages("e2fsprogs", "e2fsprogs", "e2fsprogs")},
		{Program: "trace-cmd", Use: Tests, For: "reads the traces that were packed",
			Packages: packages("trace-cmd", "trace-cmd", "trace-cmd")},
	}
}

// findNeeds gives the needs of whoever asks, each with its path.
func findNeeds(env Env, d Distribution) []Need {
	var out []Need
	for _, n := range allNeeds() {
		if n.debian && d.ID != "debian" {
			n.Packages = nil
		}
		if n.user && env.UID == 0 {
			continue
		}
		if n.File != "" {
			if info, err := os.Stat(env.path(n.File)); err == nil && info.Mode().IsRegular() {
				n.Path = n.File
			}
		} else {
			n.Path = env.find(n.Program)
		}
		out = append(out, n)
	}
	return out
}

// find looks for a program where proc.LookPath does.
func (env Env) find(name string) string {
	for _, dir := range slices.Concat(env.Path, proc.Sbin()) {
		info, err := os.Stat(env.path(dir, name))
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return filepath.Join(dir, name)
		}
	}
	return ""
}

// Missing gives what was not found, in the order of the table.
func (r Report) Missing() []Need {
	var out []Need
	for _, n := range r.Needs {
		if n.Path == "" {
			out = append(out, n)
		}
	}
	return out
}
