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
	"spindle/pipeline/drive"
	"spindle/pipeline/machine"
	"spindle/pipeline/machine/libvirttest"
)

// serving is a drive for machines that serve it themselves.
func serving(t *testing.T, m *memory) func(net.Conn) {
	return func(conn net.Conn) {
		nbd.Serve(t.Context(), conn, m, nbd.Options{Flush: true, FUA: true, Trim: true})
	}
}

// A machine under libvirt is the machine that we start ourselves: the same
// devices, and its ends told apart in the same way.
func TestLibvirt(t *testing.T) {
	uri := libvirttest.Daemon(t)
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
		}, machine.Paused, fault.Machinery, "paused"},
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

// The same over SSH: kernel, initramfs and root are brought to the other host,
// and its QEMU reaches our sockets.
func TestLibvirtOverSSH(t *testing.T) {
	uri := libvirttest.OverSSH(t, libvirttest.Daemon(t))
	sockets, err := os.MkdirTemp("", "vm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	before, _ := filepath.Glob("/tmp/spindle-*")
	m := boot(t, "ready", func(c *machine.Config) {
		c.Libvirt, c.Sockets = uri, sockets
		c.Drives = []machine.Disk{{Bus: drive.AHCI, Serial: "spindle-d0", Serve: serving(t, &memory{label: "far away"})}}
	})
	p := ready(t, m)
	p.holds("spindle-d0", "far away")
	if err := m.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	ends(t, m, machine.Stopped, fault.Machinery, "^stopped$")
	if after, _ := filepath.Glob("/tmp/spindle-*"); len(after) > len(before) {
		t.Errorf("left on the other host: %q", after)
	}
}

func TestLibvirtURI(t *testing.T) {
	for uri, want := range map[string]string{
		"qemu:///system": "", "qemu+unix:///system?socket=/run/x": "", "qemu+ssh://host/system": "",
		"qemu+ssh://me@host:2222/system?keyfile=/k&known_hosts=/h&socket=/s": "",
		"qemu:///session":                            "want qemu:///system or qemu+ssh://HOST/system",
		"qemu://host/system":                         "want qemu:///system",
		"qemu+ssh:///system":                         "want qemu:///system",
		"qemu+ssh://host/session":                    "want qemu:///system",
		"xen:///system":                              "want qemu:///system",
		"qemu:///system?keyfile=/k":                  "of parameters there is socket",
		"qemu+ssh://host/system?no_verify=1":         "of parameters there are socket, keyfile and known_hosts",
		"qemu+ssh://-oProxyCommand=touch%20x/system": "libvirt",
		"qemu:///system?socket=%zz":                  "libvirt",
	} {
		err := machine.ValidLibvirt(uri)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || fault.Of(err) != fault.Plan) {
			t.Errorf("%s: got %v, want %q", uri, err, want)
		}
	}
}
