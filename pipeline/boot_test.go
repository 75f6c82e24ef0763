package pipeline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"spindle/internal/fault"
	"spindle/internal/proc/proctest"
	"spindle/internal/store/storetest"
	"spindle/pipeline/guest"
	"spindle/reports/record"
)

// bootPlan is the least that boots: a kernel that is quick to load and a drive
// without timing, because tests of other packages use the CPUs meanwhile.
const bootPlan = `
name: boot
kernels:
  cloud: {deb: linux-image-6.12-cloud-amd64}
drives:
  fast: {profile: raw, bus: virtio-scsi, queue-depth: 1, size: 1GiB}
arms:
  base: {kernel: cloud, sysctl: {vm.dirty_ratio: 15}, mount: noatime}
  broken: {kernel: cloud, cmdline: rdinit=/there/is/none}
conditions:
  filesystem: [ext4]
  scheduler: [mq-deadline]
workloads:
  - dd: {size: 16MiB, conv: fsync}
machine: {memory: 384MiB, accel: tcg}
repeat: 1
`

// booting gives what a test with real guests needs. The kernel and the image
// are those of the user's own store, so that they are made once.
var prepared struct {
	sync.Once
	kit *Kit
	err error
}

func booting(t testing.TB) (Env, *Kit, *Plan) {
	t.Helper()
	if testing.Short() {
		t.Skip("boots guests: not with -short")
	}
	proctest.Need(t, "qemu-system-x86_64", "mmdebstrap", "mksquashfs", "apt-get", "dpkg-deb", "depmod", "go")
	cache, st := storetest.User(t)
	env := NewEnv(st, cache, nil, time.Now, "", "test", []string{"test"})
	env.Temp = t.TempDir()
	p := mustLoad(t, bootPlan)
	prepared.Do(func() { prepared.kit, prepared.err = Prepare(context.Background(), env, p) })
	if prepared.err != nil {
		t.Fatal(prepared.err)
	}
	return env, prepared.kit, p
}

func mustLoad(t testing.TB, text string) *Plan {
	t.Helper()
	p, err := Load("boot.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A whole run, of which one arm's kernel panics: that is a result, told at
// once, and the other arm's numbers stand.
func TestRunBoots(t *testing.T) {
	env, _, p := booting(t)
	env.Cache = filepath.Dir(env.Store.Dir())
	dir := filepath.Join(t.TempDir(), "run")
	if err := Run(t.Context(), env, p, dir); err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := run.Samples()
	if err != nil {
		t.Fatal(err)
	}
	if len(samples) != 2 {
		t.Fatalf("%d samples, want 2", len(samples))
	}
	for _, s := range samples {
		switch s.Arm {
		case "base":
			checkSample(t, s)
		case "broken":
			if o := s.Outcome; o.Kind != record.KernelFault || o.Reason != "panic" || o.Log != record.ConsoleLog || o.Line == 0 {
				t.Errorf("outcome of the arm without init: %+v", o)
			}
		}
		for _, file := range []string{"console.log", "qemu.log"} {
			if _, err := os.Stat(filepath.Join(run.SampleDir(s.Block, s.Cell), file)); err != nil {
				t.Error(err)
			}
		}
	}
	left, err := os.ReadDir(env.Temp)
	if err != nil || len(left) > 0 {
		t.Errorf("left in the temporary directory: %v, %v", left, err)
	}
}

// checkSample holds what the guest read back against what the plan asked for.
func checkSample(t *testing.T, s record.Sample) {
	t.Helper()
	if s.Outcome.Kind != record.OK {
		t.Fatalf("outcome %+v", s.Outcome)
	}
	for name, want := range map[string]string{
		"scheduler": "mq-deadline", "queue_depth": "1", "write_cache": "write back", "vm.dirty_ratio": "15",
	} {
		if got := s.Settings[name]; got != want {
			t.Errorf("read back %s = %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(s.Mount, "noatime") || !strings.Contains(s.Mkfs, "mkfs.ext4") {
		t.Errorf("mkfs %q, mount %q", s.Mkfs, s.Mount)
	}
	for _, m := range s.Metrics {
		if m.Name == "runtime" && m.Value <= 0 {
			t.Errorf("runtime %g s", m.Value)
		}
	}
	// 16 MiB reached the drive, whatever the file system added.
	if s.Drive.WriteBytes < 16<<20 || s.Drive.Flushes == 0 {
		t.Errorf("the drive saw %+v", s.Drive)
	}
	if s.CPUBusy <= 0 || s.CPUBusy > 1 {
		t.Errorf("CPU busy %g", s.CPUBusy)
	}
}

// Four ways to lose a guest, told apart by what lies behind the same silence.
func TestLostGuests(t *testing.T) {
	env, kit, p := booting(t)
	cell := record.Cell{Arm: "base", Condition: p.Grid()[0]}
	for _, tt := range []struct {
		name   string
		lose   func(ctx context.Context, r *rig) error
		reason string
		kind   fault.Kind
	}{
		{"kernel panics", inGuest("echo c >/proc/sysrq-trigger"), "panic", fault.Kernel},
		{"sshd dies", inGuest("for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline | grep -q '^spindle-guest sshd' && kill -9 ${p#/proc/}; done"), "ssh-lost", fault.Machinery},
		{"QEMU is killed", func(_ context.Context, r *rig) error { return killProcess(r.machine.Pid()) }, "qemu-killed", fault.Machinery},
		// One CPU, a real-time task that never gives it back, and neither of the
		// two mercies that the kernel has for all others.
		{"kernel hangs", inGuest("echo 0 >/sys/kernel/debug/sched/fair_server/cpu0/runtime; echo -1 >/proc/sys/kernel/sched_rt_runtime_us; chrt -f 99 sh -c 'while :; do :; done'"), "hang", fault.Kernel},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			var r rig
			defer r.Close()
			if err := r.bringUp(ctx, env, kit, p, 1, cell, t.TempDir()); err != nil {
				t.Fatal(err)
			}
			waits, err := r.guest.Start(ctx, guest.Command{Line: "sleep 1000"})
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.lose(ctx, &r); err != nil {
				t.Fatal(err)
			}
			_, err = waits.Wait()
			if err == nil {
				t.Fatal("the command ended well in a lost guest")
			}
			err = r.explain(ctx, err)
			if fault.Reason(err) != tt.reason || fault.Of(err) != tt.kind {
				t.Errorf("told as %v %q: %v; want %v %q", fault.Of(err), fault.Reason(err), err, tt.kind, tt.reason)
			}
		})
	}
}

// inGuest runs a command that may not live to tell of its end.
func inGuest(line string) func(context.Context, *rig) error {
	return func(ctx context.Context, r *rig) error {
		_, err := r.guest.Start(ctx, guest.Command{Line: line})
		return err
	}
}

func killProcess(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("find QEMU: %w", err)
	}
	return p.Kill()
}
