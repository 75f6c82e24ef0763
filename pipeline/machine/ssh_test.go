package machine_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"spindle/images"
	"spindle/internal/fault"
	"spindle/internal/proc/proctest"
	"spindle/internal/store"
	"spindle/kernels"
	"spindle/pipeline/guest"
	"spindle/pipeline/machine"
	"spindle/workloads"
)

// debianParts are those of a real guest, made once: kernel, initramfs with
// spindle-guest, root image.
var debianParts = sync.OnceValues(func() (machine.Config, error) {
	cache, err := cache()
	if err != nil {
		return machine.Config{}, err
	}
	s, err := store.Open(filepath.Join(cache, "store"))
	if err != nil {
		return machine.Config{}, err
	}
	ctx := context.Background()
	env := images.Env{Store: s}
	k, err := kernels.Make(ctx, kernels.Env{Store: s, AptDir: filepath.Join(cache, "apt")}, kernels.Source{Deb: testKernel})
	if err != nil {
		return machine.Config{}, err
	}
	image, err := images.Make(ctx, env, images.Spec{})
	if err != nil {
		return machine.Config{}, err
	}
	agent, _, err := images.GuestBinary(ctx, env)
	if err != nil {
		return machine.Config{}, err
	}
	order, err := k.Order(kernels.GuestModules()...)
	if err != nil {
		return machine.Config{}, err
	}
	m := images.Modules{Release: k.Version, Root: k.ModuleDir()}
	for _, x := range order {
		m.Order = append(m.Order, images.Module(x))
	}
	initrd, _, err := images.Initramfs(ctx, env, images.InitramfsSpec{Guest: agent, Modules: m})
	return machine.Config{Kernel: k.Boot, Initrd: initrd, Root: image.Root, Memory: 512 << 20}, err
})

// logIn boots a real guest and logs in.
func logIn(t *testing.T, o guest.Options) (*machine.Machine, *guest.Guest) {
	t.Helper()
	proctest.Need(t, "qemu-system-x86_64", "go", "apt-get", "dpkg-deb", "depmod", "mmdebstrap", "mksquashfs")
	cfg, err := debianParts()
	if err != nil {
		t.Fatal(err)
	}
	keys, err := guest.NewKeys(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	initrd, err := os.ReadFile(cfg.Initrd)
	if err != nil {
		t.Fatal(err)
	}
	guestJSON, err := json.Marshal(workloads.Boot{
		Modules: kernels.BootModules(), Root: "spindle-root", Port: "org.spindle.ssh", Hostname: "guest", Time: time.Now().Unix(),
	})
	if err != nil {
		t.Fatal(err)
	}
	own := bytes.NewBuffer(initrd)
	err = images.AppendCpio(own, []images.File{
		{Name: "spindle/" + workloads.BootFile, Data: guestJSON},
		{Name: "spindle/" + workloads.HostKeyFile, Mode: 0o600, Data: keys.HostKey},
		{Name: "spindle/" + workloads.AuthorizedFile, Mode: 0o600, Data: keys.Authorized},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := boot(t, "", func(c *machine.Config) {
		cfg.Dir, cfg.Initrd = c.Dir, filepath.Join(t.TempDir(), "initrd")
		*c = cfg
		if err := os.WriteFile(c.Initrd, own.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	ready(t, m)
	g, err := guest.Dial(t.Context(), m.Channel(), keys, o)
	if err != nil {
		t.Fatal(m.Diagnose(t.Context(), err))
	}
	t.Cleanup(func() { g.Close() })
	return m, g
}

func TestSSH(t *testing.T) {
	m, g := logIn(t, guest.Options{})
	ctx := t.Context()
	r, err := g.Run(ctx, guest.Command{Line: "uname -n; id -un; exit 3"})
	if err != nil {
		t.Fatal(err)
	}
	if string(r.Stdout) != "guest\nroot\n" || r.Status != 3 {
		t.Errorf("it says %q, %q and exits with %d", r.Stdout, r.Stderr, r.Status)
	}
	if r, err := g.Run(ctx, guest.Command{Line: "kill -SEGV $$"}); err != nil || r.Signal != "SEGV" {
		t.Errorf("signal %q, %v", r.Signal, err)
	}
	if _, err := g.Run(ctx, guest.Command{Line: "sleep 60", Limit: time.Second}); !errors.Is(err, guest.ErrLimit) {
		t.Errorf("limit: %v", err)
	}
	if r, err := g.Run(ctx, guest.Command{Line: "sleep 1; pgrep sleep"}); err != nil || len(r.Stdout) != 0 {
		t.Errorf("still runs: %s, %v", r.Stdout, err)
	}
	local, back := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
	data := make([]byte, 3<<20)
	rand.Read(data)
	if err := os.WriteFile(local, data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := g.Put(ctx, local, "/tmp/file"); err != nil {
		t.Fatal(err)
	}
	if err := g.Get(ctx, "/tmp/file", back); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(back); err != nil || !bytes.Equal(got, data) {
		t.Errorf("other bytes came back: %v", err)
	}
	var shown bytes.Buffer
	ended, err := g.Attach(ctx, guest.Terminal{In: strings.NewReader("stty size; exit 7\n"), Out: &shown, Size: guest.Size{Columns: 101, Rows: 41}})
	if err != nil || ended.Status != 7 || !strings.Contains(shown.String(), "41 101") {
		t.Errorf("terminal: %v, status %d, shown %q", err, ended.Status, shown.String())
	}

	// The SSH server dies in a guest that lives.
	g.Start(ctx, guest.Command{Line: "pkill -KILL -f 'spindle-guest sshd'"})
	select {
	case <-g.Lost():
	case <-time.After(15 * time.Second):
		t.Fatal("not lost")
	}
	if err := m.Diagnose(ctx, g.Err()); fault.Reason(err) != "ssh-lost" {
		t.Errorf("got %v, want ssh-lost", err)
	}
	ends(t, m, machine.SSHLost, fault.Machinery, "sshd exited: killed by SIGKILL")
}

// hog takes the CPU from everything below real time. The two limits that Linux
// has for such a task are taken away first; the second came with 6.12.
const hog = `echo -1 > /proc/sys/kernel/sched_rt_runtime_us
mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
for f in /sys/kernel/debug/sched/fair_server/*/runtime; do echo 0 > $f; done
exec chrt -f 99 sh -c 'while :; do :; done'`

// A guest that hangs is told by its silence over SSH, and the machine knows why.
func TestSSHToHungGuest(t *testing.T) {
	m, g := logIn(t, guest.Options{Keepalive: time.Second, Silence: 6 * time.Second})
	ctx := t.Context()
	_, err := g.Run(ctx, guest.Command{Line: hog})
	if !errors.Is(err, guest.ErrLost) {
		t.Fatalf("got %v, want ErrLost", err)
	}
	m.Diagnose(ctx, err)
	notStarved(t, m.Ending())
	ends(t, m, machine.Hang, fault.Kernel, "the kernel still answers SysRq")
}
