package uml_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"spindle/images"
	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/internal/store"
	"spindle/internal/unit"
	"spindle/pipeline/drive"
	"spindle/pipeline/machine"
	"spindle/pipeline/machine/uml"
)

// initramfs builds the tests' init once.
var initramfs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "uml-test")
	if err != nil {
		return "", err
	}
	init := filepath.Join(dir, "init")
	_, err = proc.Run(context.Background(), proc.Cmd{
		Path: "go", Args: []string{"build", "-o", init, "./testdata/init"}, Setenv: []string{"CGO_ENABLED=0"},
	})
	if err != nil {
		return "", err
	}
	s, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		return "", err
	}
	path, _, err := images.Initramfs(context.Background(), images.Env{Store: s}, images.InitramfsSpec{Guest: init, Modules: images.Modules{Release: "um"}})
	return path, err
})

// kernel gives the path of a kernel for User Mode Linux with the fragment "uml",
// which the environment names: to build one takes minutes, so that it is done
// once before the tests. Without, the stand-in of TestFake... is all that is
// served.
func kernel(t testing.TB) string {
	t.Helper()
	path := os.Getenv("SPINDLE_UML_KERNEL")
	switch {
	case path != "":
	case os.Getenv("CI") == "true":
		t.Fatal("no kernel: SPINDLE_UML_KERNEL is not set; .ci/run builds one")
	default:
		t.Skip("wants a kernel: SPINDLE_UML_KERNEL=$PWD/um/linux, after go run ./cmd/spindle kernel build --deb linux-source-6.12 --arch um --config uml,./.ci/uml.config -o um")
	}
	return path
}

func config(t testing.TB, mode string) uml.Config {
	t.Helper()
	proctest.Need(t, "setarch", "go")
	initrd, err := initramfs()
	if err != nil {
		t.Fatal(err)
	}
	return uml.Config{
		Kernel: kernel(t), Initrd: initrd, Append: []string{"mode=" + mode},
		Memory: 256 * unit.MiB, Seed: 1, Cost: uml.DefaultCost, Clock: time.Unix(1767225600, 0),
		Dir: t.TempDir(), Temp: t.TempDir(),
		Drives: []uml.Disk{{
			Spec: drive.Spec{Profile: "sata-7200", QueueDepth: 1, Bus: drive.VirtioSCSI, Size: 4 << 30}, Seed: 1, Serial: "d0",
		}},
	}
}

func run(t *testing.T, cfg uml.Config) *uml.Report {
	t.Helper()
	rep, err := uml.Run(t.Context(), cfg)
	if err != nil || t.Failed() {
		log, _ := os.ReadFile(filepath.Join(cfg.Dir, machine.ConsoleLog))
		t.Fatalf("%v\n%s", err, log)
	}
	return rep
}

// Every end is told apart.
func TestEnds(t *testing.T) {
	for _, tt := range []struct {
		mode   string
		reason machine.Reason
		kind   fault.Kind
		detail string
	}{
		{"off", machine.Exit, fault.Kernel, "powered itself off though nobody had told it to"},
		{"fatal", machine.Fatal, fault.Machinery, "the guest's init gave up: this is a test"},
		{"panic", machine.Panic, fault.Kernel, "Kernel panic - not syncing"},
		{"exit", machine.Panic, fault.Kernel, "Attempted to kill init"},
		{"late", machine.Hang, fault.Kernel, "the guest was not done after"},
		{"hung", machine.Hang, fault.Kernel, "before that: INFO: task init:1 blocked for more than"},
		{"loop", machine.Hang, fault.Kernel, "the guest was not done after"},
		{"oom", machine.Stopped, 0, "ended as told"},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			cfg := config(t, tt.mode)
			cfg.Limit = 20 * time.Minute
			if tt.mode == "loop" {
				cfg.Limit = 20 * time.Second // of which each tenth costs the host's time
			}
			cfg.Drives[0].Spec.Faults = []drive.Fault{{Stall: &drive.Stall{For: unit.Duration(time.Hour)}}}
			rep := run(t, cfg)
			e := rep.Ending
			if e.Reason != tt.reason || e.Reason != machine.Stopped && e.Kind != tt.kind || !strings.Contains(e.Detail, tt.detail) {
				t.Errorf("ended as %s (%v): %s\n%s", e.Reason, e.Kind, e.Detail, e.Tail)
			}
			if (e.Err() == nil) != (tt.reason == machine.Stopped) {
				t.Errorf("error %v", e.Err())
			}
			if oom := slices.ContainsFunc(e.Findings, func(f machine.Finding) bool { return f.Reason == machine.OutOfMemory }); oom != (tt.mode == "oom") {
				t.Errorf("findings %+v", e.Findings)
			}
			if (rep.Spins > 0) != (tt.mode == "loop") {
				t.Errorf("%d spins", rep.Spins)
			}
		})
	}
}

// Computing takes what it is said to, by the guest's own clock, which cannot
// tell less than a whole system call from a page fault that is served by none.
func TestCost(t *testing.T) {
	cfg := config(t, "cost")
	cfg.Cost = uml.Cost{Syscall: 2 * time.Microsecond, Fault: 3 * time.Microsecond, Byte: 1000}
	run(t, cfg)
	log, err := os.ReadFile(filepath.Join(cfg.Dir, machine.ConsoleLog))
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(log), "spindle: cost ")
	var call, page, each float64
	if _, err := fmt.Sscanf(line, "%f ns a call, %f ns a fault, %f ps a byte", &call, &page, &each); err != nil {
		t.Fatalf("%v in %s", err, log)
	}
	for _, tt := range []struct {
		name      string
		got, want float64
	}{{"call", call, 2000}, {"fault", page, 3000}, {"byte", each, 1000}} {
		if tt.got < 0.98*tt.want || tt.got > 1.1*tt.want {
			t.Errorf("a %s costs %.0f, want %.0f", tt.name, tt.got, tt.want)
		}
	}
}

// Three runs give the same requests at the same times; another seed and the
// protocol's other form are no reason for other requests, only for other
// times.
func TestSameAgain(t *testing.T) {
	var first *uml.Report
	for i := range 3 {
		rep := run(t, config(t, "job"))
		if rep.Ending.Reason != machine.Stopped || rep.Drive.Reads != 32 || rep.Drive.Writes != 32 || rep.Drive.Flushes != 1 || !rep.Shared {
			t.Fatalf("run %d: %+v", i, rep)
		}
		if rep.Spins != 0 {
			t.Errorf("run %d: %d spins", i, rep.Spins)
		}
		// A disk of 7200 rpm makes each of 32 reads wait half a turn of 8.3 ms on
		// average; its longest seek takes no 20 ms.
		if rep.Workload < 32*4*time.Millisecond || rep.Workload > 65*28*time.Millisecond {
			t.Errorf("run %d took %v", i, rep.Workload)
		}
		rep.Wall = 0
		if first == nil {
			first = rep
		} else if diff := cmp.Diff(first, rep, cmp.AllowUnexported(machine.Ending{})); diff != "" {
			t.Error(diff)
		}
	}
}

// By messages alone, as before Linux 6.11, the drive is asked the same.
func TestMessages(t *testing.T) {
	cfg := config(t, "job")
	cfg.MessagesOnly = true
	rep := run(t, cfg)
	if rep.Ending.Reason != machine.Stopped || rep.Drive.Reads != 32 || rep.Shared {
		t.Fatalf("%+v", rep)
	}
}

// A program that computes for ever does not stop time.
func TestSpin(t *testing.T) {
	cfg := config(t, "spin")
	rep := run(t, cfg)
	log, _ := os.ReadFile(filepath.Join(cfg.Dir, machine.ConsoleLog))
	if rep.Ending.Reason != machine.Stopped || rep.Spins < 5 || !strings.Contains(string(log), "spindle: spun for 1") {
		t.Errorf("%+v\n%s", rep, log)
	}
}

// A drive of ours that fails, with the host's disk full, is no fault of the
// kernel's, whatever that made of it.
func TestDriveFails(t *testing.T) {
	cfg := config(t, "job")
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("mount a small tmpfs: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	cfg.Drives[0].Backing = filepath.Join(dir, "disk")
	cfg.Append = append(cfg.Append, "requests=1000") // half of them write 8 KiB
	_, err := uml.Run(t.Context(), cfg)
	if fault.Of(err) != fault.Machinery || fault.Reason(err) != "backing" || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("error %v", err)
	}
}

// Killed from outside it is no fault of the kernel's.
func TestKilled(t *testing.T) {
	cfg := config(t, "late")
	cfg.Limit = 200 * 365 * 24 * time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := uml.Run(ctx, cfg); err == nil {
		t.Error("no error after the context ended")
	}
}
