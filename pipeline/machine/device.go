package machine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// device is one thing a machine has. What QEMU and what the kernel must be
// told about it stand together, so that they cannot drift apart.
type device interface {
	qemu(f *files) []string // arguments; descriptors it needs are given out by f
	kernel() []string       // words of the kernel command line
}

// files numbers what QEMU inherits. By hand, when a person boots the same
// machine from a shell, there is nothing to inherit; a QEMU that somebody else
// starts for us finds our sockets in a directory.
type files struct {
	byHand bool
	dir    string
	list   []*os.File
}

// add gives the descriptor number that f will have in QEMU.
func (fs *files) add(f *os.File) int {
	fs.list = append(fs.list, f)
	return 2 + len(fs.list)
}

// chardev is a character device on one of our sockets, by its descriptor or by
// its name.
func (fs *files) chardev(id string, f *os.File) string {
	if fs.dir != "" {
		return fmt.Sprintf("socket,id=%s,path=%s", id, filepath.Join(fs.dir, id))
	}
	return fmt.Sprintf("socket,id=%s,fd=%d", id, fs.add(f))
}

// command gives QEMU's arguments for a machine.
func command(devices []device, extra []string, fs *files) (args []string, cmdline string) {
	for _, d := range devices {
		args = append(args, d.qemu(fs)...)
	}
	cmdline = words(devices, extra)
	return append(args, "-append", cmdline), cmdline
}

// words gives the kernel command line of a machine.
func words(devices []device, extra []string) string {
	var words []string
	for _, d := range devices {
		for _, w := range d.kernel() {
			if !slices.Contains(words, w) { // of two disks that say the same
				words = append(words, w)
			}
		}
	}
	return strings.Join(append(words, extra...), " ")
}

// options gives one QEMU option value as JSON, in which, unlike in the
// key=value form, a path may have commas. The error cannot happen: values are
// strings, numbers, booleans and maps of these.
func options(v map[string]any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// board is a q35 PC. "-cpu max" is not for speed alone: without AES and AVX the
// guest's SSH handshake takes ten times as long. A thread for each CPU is what
// KVM has anyway.
type board struct {
	memoryMiB int64
	cpus      int
	accel     Accel
}

func (b board) qemu(*files) []string {
	accel := string(b.accel)
	if b.accel == TCG {
		accel += ",thread=multi"
	}
	return []string{
		"-machine", "q35", "-accel", accel, "-cpu", "max",
		"-smp", fmt.Sprint(b.cpus), "-m", fmt.Sprintf("%dM", b.memoryMiB),
	}
}

// kernel spares an emulated CPU what costs it a third of its boot and measures
// nothing: mitigations of bugs that it does not have; waiting for timers to be
// compared that QEMU derives from one clock; self-tests of ciphers, gathering of
// entropy from jitter, and keys for sealed storage; security modules without a
// policy, which still stand in the way of every open. Names that a kernel does
// not know it ignores. An arm's own command line comes later and can ask for
// them again.
func (b board) kernel() []string {
	if b.accel != TCG {
		return nil
	}
	return []string{
		"mitigations=off", "tsc=reliable", "no_timer_check",
		"cryptomgr.notests", "initcall_blacklist=jent_mod_init,crypto_kdf108_init,init_encrypted",
		"lsm=capability",
	}
}

// bare leaves out everything that nobody asked for: a network card, a floppy
// drive, a display, and the host's QEMU configuration.
type bare struct{}

func (bare) qemu(*files) []string {
	return []string{"-nodefaults", "-no-user-config", "-display", "none", "-vga", "none"}
}
func (bare) kernel() []string { return nil }

// linux is loaded by QEMU itself: no boot loader, no disk to boot from.
type linux struct{ image, initrd string }

func (l linux) qemu(*files) []string {
	args := []string{"-kernel", l.image}
	if l.initrd != "" {
		args = append(args, "-initrd", l.initrd)
	}
	return args
}
func (linux) kernel() []string { return nil }

// exitOnPanic makes a panic end the machine. The kernel reboots at once, which
// it does after it has printed everything, and for QEMU a reboot is the end.
// QEMU itself does nothing about a panic but tell us: its default, to stop at
// the notification, can lose the last lines of the console.
type exitOnPanic struct{}

func (exitOnPanic) qemu(*files) []string {
	return []string{"-no-reboot", "-action", "panic=none", "-device", "pvpanic"}
}
func (exitOnPanic) kernel() []string { return []string{"panic=-1"} }

// serialConsole works from the kernel's first line to its last, which no
// virtio console does.
type serialConsole struct{ socket *os.File }

func (c serialConsole) qemu(f *files) []string {
	if f.byHand {
		return []string{"-chardev", "stdio,id=console,signal=on", "-serial", "chardev:console"}
	}
	return []string{"-chardev", f.chardev("console", c.socket), "-serial", "chardev:console"}
}
func (serialConsole) kernel() []string { return []string{"console=ttyS0"} }

// sysrq lets us ask a guest that no longer answers what it is doing, whatever
// the kernel's own default. Asking goes over the serial console.
type sysrq struct{}

func (sysrq) qemu(*files) []string { return nil }
func (sysrq) kernel() []string     { return []string{"sysrq_always_enabled"} }

// monitor is QEMU's own control channel.
type monitor struct{ socket *os.File }

func (m monitor) qemu(f *files) []string {
	if f.byHand {
		return nil
	}
	return []string{"-chardev", f.chardev("qmp", m.socket), "-mon", "chardev=qmp,mode=control"}
}
func (monitor) kernel() []string { return nil }

// sshPort is the virtio-serial port that carries SSH. It needs an id, or QEMU
// does not tell when the guest opens and closes it.
type sshPort struct{ socket *os.File }

const (
	sshPortName = "org.spindle.ssh" // in the guest
	sshPortID   = "ssh-port"        // in QEMU
)

func (p sshPort) qemu(f *files) []string {
	chardev := "null,id=ssh"
	if !f.byHand {
		chardev = f.chardev("ssh", p.socket)
	}
	return []string{
		"-device", "virtio-serial-pci,id=vser", "-chardev", chardev,
		"-device", "virtserialport,bus=vser.0,chardev=ssh,name=" + sshPortName + ",id=" + sshPortID,
	}
}
func (sshPort) kernel() []string { return nil }
