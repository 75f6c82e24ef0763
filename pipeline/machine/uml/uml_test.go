package uml_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spindle/images"
	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/internal/store"
	"spindle/internal/unit"
	"spindle/kernels"
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

// made is the tests' kernel, built once and kept in the user's store.
var made = sync.OnceValues(func() (kernels.Artifact, error) {
	cache := os.Getenv("SPINDLE_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return kernels.Artifact{}, err
		}
		cache = filepath.Join(dir, "spindle")
	}
	s, err := store.Open(filepath.Join(cache, "store"))
	if err != nil {
		return kernels.Artifact{}, err
	}
	return kernels.Make(context.Background(), kernels.Env{Store: s, AptDir: filepath.Join(cache, "apt")},
		kernels.Source{Deb: "linux-source-6.12", Arch: "um", Config: kernels.Parts{"uml"}})
})

// kernel gives the path of a kernel for User Mode Linux that the environment
// names; SPINDLE_UML_KERNEL=build builds one, which takes a quarter of an hour on
// two CPUs and more than the tests of all other packages together. Without, the
// stand-in of TestFake... is all that is served.
func kernel(t testing.TB) string {
	t.Helper()
	switch path := os.Getenv("SPINDLE_UML_KERNEL"); path {
	case "":
		t.Skip("wants a kernel: SPINDLE_UML_KERNEL=/path/to/linux, or =build")
	case "build":
	default:
		return path
	}
	proctest.Need(t, "make", "gcc", "flex", "bison", "bc")
	k, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return k.Boot
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
	} {
		t.Run(tt.mode, func(t *testing.T) {
			cfg := config(t, tt.mode)
			cfg.Limit = time.Hour
			e := run(t, cfg).Ending
			if e.Reason != tt.reason || e.Kind != tt.kind || !strings.Contains(e.Detail, tt.detail) {
				t.Errorf("ended as %s (%v): %s\n%s", e.Reason, e.Kind, e.Detail, e.Tail)
			}
			if e.Err() == nil {
				t.Error("no error")
			}
		})
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
