package passthrough

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
)

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := proc.Run(context.WithoutCancel(t.Context()), proc.Cmd{Path: name, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out.Stdout))
}

// loop makes a disk of 64 MiB out of a file. Its identity is the file's path.
func loop(t *testing.T, args ...string) (node, file string) {
	t.Helper()
	proctest.Need(t, "losetup", "wipefs", "mkfs.ext4")
	if os.Geteuid() != 0 {
		t.Skip("needs root, for loop devices")
	}
	file = filepath.Join(t.TempDir(), "disk.img")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 64<<20); err != nil {
		t.Fatal(err)
	}
	out, err := proc.Run(t.Context(), proc.Cmd{Path: "losetup", Args: append(args, "--find", "--show", file)})
	if err != nil {
		t.Skipf("this host lets nobody make loop devices: %v", err)
	}
	node = strings.TrimSpace(string(out.Stdout))
	t.Cleanup(func() { run(t, "losetup", "--detach", node) })
	return node, file
}

// refused holds an error of Check and of Take against what both must say.
func refused(t *testing.T, s Spec, want ...string) {
	t.Helper()
	for name, take := range map[string]func(context.Context, Host, Spec) (*Disk, error){"check": Check, "take": Take} {
		d, err := take(t.Context(), ThisHost(), s)
		if err == nil {
			if d.File != nil {
				d.File.Close()
			}
			t.Errorf("%s: not refused", name)
			continue
		}
		if fault.Of(err) != fault.Plan {
			t.Errorf("%s: %v: not the plan's fault", name, err)
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: got %q, want %q in it", name, err, w)
			}
		}
	}
}

func TestTake(t *testing.T) {
	node, file := loop(t)
	d, err := Take(t.Context(), ThisHost(), Spec{Path: node, Destroy: file})
	if err != nil {
		t.Fatal(err)
	}
	if d.Node != node || d.Size != 64<<20 || d.LogicalBlock != 512 || d.ID != file {
		t.Errorf("got %+v", d)
	}
	flags, err := unix.FcntlInt(d.File.Fd(), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_DIRECT == 0 || flags&unix.O_ACCMODE != unix.O_RDWR {
		t.Errorf("flags %#x, %v: want O_RDWR and O_DIRECT", flags, err)
	}
	// As long as it is taken, nobody else can begin to use it.
	refused(t, Spec{Path: "/nonexistent", Destroy: file}, "want a disk's path")
	if _, err := Take(t.Context(), ThisHost(), d.Spec); !errors.Is(err, unix.EBUSY) || fault.Of(err) != fault.Plan {
		t.Errorf("taken twice: %v", err)
	}
	dir := t.TempDir()
	fill(t, d.File)
	if got := run(t, "wipefs", "--noheadings", node); !strings.Contains(got, "ext4") {
		t.Fatalf("the guest's file system is not there: %q", got)
	}
	if _, err := proc.Run(t.Context(), proc.Cmd{Path: "mount", Args: []string{"-t", "ext4", node, dir}}); err == nil {
		run(t, "umount", dir)
		t.Error("a disk that is taken was mounted")
	}
	// What was made on it meanwhile is gone, and it can be taken again.
	if err := d.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d, err = Take(t.Context(), ThisHost(), d.Spec); err != nil {
		t.Fatal(err)
	}
	if err := d.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// fill makes a file system on a disk that is taken, as a guest does.
func fill(t *testing.T, disk *os.File) {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 64<<20); err != nil {
		t.Fatal(err)
	}
	run(t, "mkfs.ext4", "-q", "-F", image)
	data, err := os.ReadFile(image)
	if err != nil {
		t.Fatal(err)
	}
	aligned, err := unix.Mmap(-1, 0, len(data), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(aligned)
	copy(aligned, data)
	if _, err := disk.WriteAt(aligned, 0); err != nil {
		t.Fatal(err)
	}
}

func TestRefused(t *testing.T) {
	node, file := loop(t)
	good := Spec{Path: node, Destroy: file}
	refused(t, Spec{Path: node}, "write its serial behind destroy:")
	refused(t, Spec{Path: node, Destroy: "WD-WCC4N5PT"}, `destroy: "WD-WCC4N5PT", but the disk there is "`+file+`"`)
	refused(t, Spec{Path: node, Destroy: strings.ToUpper(file)}, "but the disk there is")
	refused(t, Spec{Path: "/dev/null", Destroy: "x"}, "is no block device")
	refused(t, Spec{Path: "/dev/disk/by-id/nonexistent", Destroy: "x"}, "no such file")
	refused(t, Spec{Path: "sdb", Destroy: "x"}, "want a disk's path")
	refused(t, Spec{Path: "/dev/../etc/passwd", Destroy: "x"}, "want a disk's path")

	run(t, "mkfs.ext4", "-q", "-L", "precious, this", node)
	refused(t, good, `it is not empty: `+filepath.Base(node)+` has ext4 (label "precious, this")`)
	if _, err := Check(t.Context(), ThisHost(), Spec{node, file, true}); err != nil {
		t.Errorf("with destroy-contents: %v", err)
	}

	// What is in use is not taken, whatever the plan says.
	always := Spec{node, file, true}
	dir := filepath.Join(t.TempDir(), "a dir")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, "mount", node, dir)
	refused(t, always, "is mounted on "+dir)
	run(t, "umount", dir)
	run(t, "mkswap", node)
	if _, err := proc.Run(t.Context(), proc.Cmd{Path: "swapon", Args: []string{node}}); err == nil {
		refused(t, always, "is swap space")
		run(t, "swapoff", node)
	} else {
		t.Logf("not tried: %v", err)
	}
	refused(t, good, "it is not empty: "+filepath.Base(node)+" has swap")

	// Whoever has it open exclusively, without any other sign of it.
	f, err := os.OpenFile(node, os.O_RDONLY|os.O_EXCL, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Take(t.Context(), ThisHost(), always); !errors.Is(err, unix.EBUSY) || !strings.Contains(err.Error(), "something uses") {
		t.Errorf("open exclusively elsewhere: %v", err)
	}
	f.Close()
}

func TestReadOnly(t *testing.T) {
	node, file := loop(t, "--read-only")
	refused(t, Spec{Path: node, Destroy: file}, "cannot be written")
}

// A disk with partitions: each speaks for itself, and none is taken alone.
func TestPartitions(t *testing.T) {
	proctest.Need(t, "sfdisk", "partx")
	node, file := loop(t, "--partscan")
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("label: dos\nsize=16MiB\nsize=16MiB\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(script)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := proc.Run(t.Context(), proc.Cmd{Path: "sfdisk", Args: []string{"--quiet", node}, Stdin: in}); err != nil {
		t.Fatal(err)
	}
	run(t, "partx", "--update", node) // for kernels that read no such tables
	if _, err := os.Stat(node + "p2"); err != nil {
		t.Skipf("the kernel shows no partitions of loop devices: %v", err)
	}
	name := filepath.Base(node)
	refused(t, Spec{Path: node, Destroy: file}, "it is not empty: "+name+" has dos")
	refused(t, Spec{Path: node + "p1", Destroy: file}, "is a partition: want the whole disk, "+name)
	run(t, "mkfs.ext4", "-q", node+"p2")
	refused(t, Spec{Path: node, Destroy: file}, name+"p2 has ext4")
	dir := t.TempDir()
	run(t, "mount", node+"p2", dir)
	defer run(t, "partx", "--delete", node)
	defer run(t, "umount", dir)
	refused(t, Spec{node, file, true}, name+"p2 is mounted on "+dir)
}

// Devices that are made of the disk, as sysfs shows them: no test can be sure
// of a host that has device mapper or md.
func TestHeld(t *testing.T) {
	node, file := loop(t)
	name := filepath.Base(node)
	real, err := filepath.EvalSymlinks("/sys/block/" + name)
	if err != nil {
		t.Fatal(err)
	}
	h := Host{Sys: t.TempDir(), Proc: "/proc"}
	put := func(path, text string) {
		t.Helper()
		path = filepath.Join(h.Sys, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	number, _ := os.ReadFile(filepath.Join(real, "dev"))
	dir := "block/" + name + "/"
	put(dir+"dev", string(number))
	put(dir+"ro", "0\n")
	put(dir+"size", "131072\n")
	put(dir+"loop/backing_file", file+"\n")
	put(dir+"holders/md0/dev", "9:0\n")
	put(dir+name+"p1/partition", "1\n")
	put(dir+name+"p1/dev", "259:77\n")
	put(dir+name+"p1/holders/dm-3/dev", "253:3\n")
	put("block/dm-3/dm/name", "vg0-home\n")
	if err := os.MkdirAll(filepath.Join(h.Sys, "dev/block"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(h.Sys, dir), filepath.Join(h.Sys, "dev/block", strings.TrimSpace(string(number)))); err != nil {
		t.Fatal(err)
	}
	_, err = Check(t.Context(), h, Spec{node, file, true})
	want := fmt.Sprintf("passthrough %s: %s is held by md0\n%sp1 is held by dm-3 (vg0-home)", node, name, name)
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestSignatures(t *testing.T) {
	// wipefs of util-linux 2.38 on an empty disk, and on one with a GPT.
	for in, want := range map[string]string{
		"": "[]", "\n": "[]",
		`{"signatures": [{"device":"sdb","type":"gpt","label":null},{"device":"sdb","type":"gpt","label":null},{"device":"sdb","type":"PMBR","label":null}]}`: "[gpt PMBR]",
		`{"signatures": [{"type":"zfs_member","label":"tank"}]}`: `[zfs_member (label "tank")]`,
	} {
		got, err := signatures([]byte(in))
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q gives %v, %v, want %s", in, got, err, want)
		}
	}
	if _, err := signatures([]byte("sdb: gpt")); err == nil {
		t.Error("what is no JSON was read")
	}
}
