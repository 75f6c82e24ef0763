package machine_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"spindle/internal/fault"
	"spindle/internal/nbd"
	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/pipeline/drive"
	"spindle/pipeline/machine"
)

// privately runs libvirtd where it sees nothing of the host's own, and as root
// throughout. Otherwise the prober of QEMU, which is root, and QEMU, which is
// not, may disagree about /dev/kvm, and the daemon asks QEMU anew what it can at
// every domain, for minutes.
const privately = `set -e
for dir in /run /var/lib/libvirt /var/cache/libvirt /var/log/libvirt /etc/libvirt; do
	mkdir -p $dir
	mount -t tmpfs tmpfs $dir
done
mkdir -p /run/libvirt /run/lock
cat > /etc/libvirt/qemu.conf <<END
user = "root"
group = "root"
security_driver = "none"
stdio_handler = "file"
cgroup_controllers = []
namespaces = []
END
cat > /etc/libvirt/libvirtd.conf <<END
unix_sock_dir = "$1"
auth_unix_rw = "none"
auth_unix_ro = "none"
END
exec libvirtd --config /etc/libvirt/libvirtd.conf --pid-file "$1/pid"
`

// libvirtd gives the URI of a daemon of the test's own.
func libvirtd(t *testing.T) string {
	t.Helper()
	proctest.Need(t, "libvirtd", "unshare")
	if os.Geteuid() != 0 {
		t.Skip("needs root, for a libvirtd in a mount namespace")
	}
	dir, err := os.MkdirTemp("", "libvirt") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	p, err := proc.Start(t.Context(), proc.Cmd{
		Path: "unshare", Args: []string{"--mount", "--propagation", "private", "sh", "-c", privately, "sh", dir}, Stderr: &said,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		<-p.Done()
		os.RemoveAll(dir)
		if t.Failed() {
			t.Logf("libvirtd says:\n%s", said.String())
		}
	})
	socket := filepath.Join(dir, "libvirt-sock")
	for range 300 {
		if conn, err := net.Dial("unix", socket); err == nil {
			conn.Close()
			return "qemu:///system?socket=" + socket
		}
		select {
		case <-p.Done():
			t.Fatalf("libvirtd ended: %v\n%s", p.Wait(), said.String())
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Fatalf("libvirtd does not listen:\n%s", said.String())
	return ""
}

// serving is a drive for machines that serve it themselves.
func serving(t *testing.T, m *memory) func(net.Conn) {
	return func(conn net.Conn) {
		nbd.Serve(t.Context(), conn, m, nbd.Options{Flush: true, FUA: true, Trim: true})
	}
}

// A machine under libvirt is the machine that we start ourselves: the same
// devices, and its ends told apart in the same way.
func TestLibvirt(t *testing.T) {
	uri := libvirtd(t)
	under := func(t *testing.T, mode string, change func(*machine.Config)) *machine.Machine {
		sockets, err := os.MkdirTemp("", "vm")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(sockets) })
		start := time.Now()
		m := boot(t, mode, func(c *machine.Config) {
			c.Libvirt, c.Sockets = uri, sockets
			if change != nil {
				change(c)
			}
		})
		t.Logf("started in %.1f s", time.Since(start).Seconds())
		return m
	}
	t.Run("drives", func(t *testing.T) {
		m := under(t, "ready", func(c *machine.Config) {
			for i, d := range []machine.Disk{
				{Bus: drive.AHCI, Rotation: 7200, WriteCache: true},
				{Bus: drive.VirtioSCSI, WriteCache: true, QueueDepth: 3},
				{Bus: drive.VirtioBlk, QueueDepth: 9},
			} {
				d.Serial = fmt.Sprint("spindle-d", i)
				d.Serve = serving(t, &memory{label: fmt.Sprint("drive ", i)})
				c.Drives = append(c.Drives, d)
			}
		})
		start := time.Now()
		p := ready(t, m)
		t.Logf("ready after %.1f s more", time.Since(start).Seconds())
		for i, want := range []map[string]string{
			{"queue/rotational": "1", "queue/write_cache": "write back", "queue/fua": "0", "device/queue_depth": "32", "queue/max_sectors_kb": "1280"},
			{"queue/write_cache": "write back", "queue/fua": "1", "device/queue_depth": "3"},
			{"queue/write_cache": "write through", "queue/nr_requests": "16"},
		} {
			name := p.holds(fmt.Sprint("spindle-d", i), fmt.Sprint("drive ", i))
			for file, want := range want {
				if got := p.ask("show /sys/block/" + name + "/" + file); got != want {
					t.Errorf("drive %d: %s is %q, want %q", i, file, got, want)
				}
			}
		}
		var status struct{ Status string }
		if err := m.QMP().Execute(t.Context(), "query-status", nil, &status); err != nil || status.Status != "running" {
			t.Errorf("status %q, %v", status.Status, err)
		}
		start = time.Now()
		if err := m.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		ends(t, m, machine.Stopped, fault.Machinery, "^stopped$")
		t.Logf("stopped in %.1f s", time.Since(start).Seconds())
	})
	for name, test := range map[string]struct {
		mode   string
		run    func(t *testing.T, m *machine.Machine, with with)
		reason machine.Reason
		kind   fault.Kind
		detail string
	}{
		"panic": {"ready", func(t *testing.T, m *machine.Machine, with with) { ready(t, m).send("panic") },
			machine.Panic, fault.Kernel, "not syncing: sysrq triggered crash"},
		"power off": {"poweroff", nil, machine.Exit, fault.Kernel, "powered itself off"},
		"reset":     {"reset", nil, machine.Exit, fault.Kernel, "reset itself"},
		"sshd": {"ready", func(t *testing.T, m *machine.Machine, with with) {
			p := ready(t, m)
			p.ask("echo alive")
			p.send("shut")
			if _, err := p.r.ReadByte(); err == nil {
				t.Error("the channel is still open")
			}
			m.Diagnose(t.Context(), errNoAnswer)
		}, machine.SSHLost, fault.Machinery, "closed its SSH port"},
		"paused": {"ready", func(t *testing.T, m *machine.Machine, with with) {
			ready(t, m)
			if err := m.QMP().Execute(t.Context(), "stop", nil, nil); err != nil {
				t.Fatal(err)
			}
			m.Diagnose(t.Context(), errNoAnswer)
		}, machine.Paused, fault.Machinery, "its state is paused"},
		"hang": {"ready", func(t *testing.T, m *machine.Machine, with with) {
			ready(t, m).send("hog")
			time.Sleep(time.Second)
			m.Diagnose(t.Context(), errNoAnswer)
		}, machine.Hang, fault.Kernel, "the kernel still answers SysRq"},
		"QEMU killed": {"ready", func(t *testing.T, m *machine.Machine, with with) {
			ready(t, m)
			log, err := os.ReadFile(filepath.Join(with.dir, machine.QEMULog))
			if err != nil {
				t.Fatal(err)
			}
			domain := regexp.MustCompile(`<name>(spindle-[0-9a-f]+)</name>`).FindStringSubmatch(string(log))
			if domain == nil {
				t.Fatalf("no domain in the log:\n%s", log)
			}
			kill(t, "guest="+domain[1]+",")
		}, machine.Killed, fault.Machinery, "QEMU crashed or was killed|libvirt does not know why"},
		"drive": {"ready", func(t *testing.T, m *machine.Machine, with with) {
			p := ready(t, m)
			p.holds("spindle-d0", "drive")
			with.drive.broken.Store(true)
			p.send("read spindle-d0")
		}, machine.DriveError, fault.Machinery, "^read of spindle-d0 failed on the host's side: "},
	} {
		t.Run(name, func(t *testing.T) {
			w := with{drive: &memory{label: "drive"}}
			m := under(t, test.mode, func(c *machine.Config) {
				w.dir = c.Dir
				c.Drives = []machine.Disk{{Bus: drive.VirtioBlk, Serial: "spindle-d0", Serve: serving(t, w.drive)}}
			})
			if test.run != nil {
				test.run(t, m, w)
			}
			if test.reason == machine.Hang {
				notStarved(t, m.Ending())
			}
			ends(t, m, test.reason, test.kind, test.detail)
		})
	}
}

// with is what a machine of TestLibvirt was started with.
type with struct {
	dir   string
	drive *memory
}

// kill kills the process whose command line has the words.
func kill(t *testing.T, words string) {
	t.Helper()
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		text, _ := os.ReadFile(name)
		if !strings.Contains(string(text), words) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no process with %s", words)
}

func TestLibvirtAway(t *testing.T) {
	cfg := config(t, "ready")
	cfg.Libvirt, cfg.Sockets = "qemu:///system?socket=/nonexistent/libvirt-sock", t.TempDir()
	m, err := machine.Start(t.Context(), cfg)
	if err == nil {
		m.Close()
		t.Fatal("started")
	}
	if fault.Of(err) != fault.Machinery || fault.Hint(err) == "" || !strings.Contains(err.Error(), "reach libvirt") {
		t.Errorf("got %v", err)
	}
}
