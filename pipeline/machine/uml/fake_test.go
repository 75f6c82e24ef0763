package uml_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/internal/unit"
	"spindle/pipeline/drive"
	"spindle/pipeline/machine"
	"spindle/pipeline/machine/uml"
)

// fake builds the stand-in for a kernel once.
var fake = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "uml-fake")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "linux")
	_, err = proc.Run(context.Background(), proc.Cmd{Path: "go", Args: []string{"build", "-o", path, "./testdata/fake"}})
	return path, err
})

func fakeConfig(t testing.TB, mode string) uml.Config {
	t.Helper()
	proctest.Need(t, "setarch", "go")
	kernel, err := fake()
	if err != nil {
		t.Fatal(err)
	}
	return uml.Config{
		Kernel: kernel, Initrd: "initrd", Append: []string{"mode=" + mode},
		Memory: 256 * unit.MiB, Seed: 1, Cost: uml.DefaultCost, Clock: time.Unix(1767225600, 0),
		Dir: t.TempDir(), Temp: t.TempDir(),
		Drives: []uml.Disk{{
			Spec: drive.Spec{Profile: "sata-7200", QueueDepth: 1, Bus: drive.VirtioSCSI, Size: 4 * unit.GiB}, Seed: 1, Serial: "d0",
		}},
	}
}

// What a guest does over its sockets gives a report, the guest's files and the
// log of requests, the same each time.
func TestFakeJob(t *testing.T) {
	var first *uml.Report
	var log []byte
	for i := range 3 {
		cfg := fakeConfig(t, "job")
		rep, err := uml.Run(t.Context(), cfg)
		if err != nil {
			said, _ := os.ReadFile(filepath.Join(cfg.Dir, machine.ConsoleLog))
			t.Fatalf("%v\n%s", err, said)
		}
		if rep.Ending.Reason != machine.Stopped || rep.Ending.Err() != nil {
			t.Fatalf("ended %+v", rep.Ending)
		}
		for name, want := range map[string]string{"result.json": "{}\n", "sub/file": "hello\n"} {
			if got, err := os.ReadFile(filepath.Join(cfg.Dir, name)); err != nil || string(got) != want {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		s := rep.Drive
		if s.Writes != 32 || s.Reads != 96 || s.WriteBytes != 32*8192 || s.Timed != 128 || s.MaxDepth != 1 {
			t.Errorf("drive %+v", s)
		}
		if rep.Boot != 100*time.Millisecond || !rep.Shared {
			t.Errorf("boot %v, shared %v", rep.Boot, rep.Shared)
		}
		rep.Wall = 0
		text, err := os.ReadFile(filepath.Join(cfg.Dir, uml.RequestLog))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first, log = rep, text
			continue
		}
		if diff := cmp.Diff(first, rep, cmp.AllowUnexported(machine.Ending{})); diff != "" {
			t.Errorf("run %d: %s", i, diff)
		}
		if !cmp.Equal(log, text) {
			t.Errorf("run %d: another log of requests", i)
		}
	}
	checkLog(t, log, first.Drive.Timed)
}

// checkLog reads the log: as many lines as requests, times that fit together.
func checkLog(t *testing.T, data []byte, requests int64) {
	t.Helper()
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := d.DecodeAll(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	n := int64(-1) // the header
	for lines.Scan() {
		if fields := strings.Split(lines.Text(), "\t"); len(fields) != 7 {
			t.Errorf("line %q", lines.Text())
		}
		n++
	}
	if n != requests {
		t.Errorf("%d lines for %d requests", n, requests)
	}
}

// A later phase moves everything by as much, and changes nothing for a guest that
// does nothing by itself; another turn of the platters gives other times.
func TestFakeSeeds(t *testing.T) {
	report := func(change func(*uml.Config)) *uml.Report {
		cfg := fakeConfig(t, "job")
		change(&cfg)
		rep, err := uml.Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	const phase = 1234567 * time.Nanosecond
	plain := report(func(*uml.Config) {})
	later := report(func(c *uml.Config) { c.Phase = phase })
	turned := report(func(c *uml.Config) { c.Drives[0].Turn = 3 * time.Millisecond })
	if later.Trace != plain.Trace || later.Virtual != plain.Virtual+phase {
		t.Errorf("a phase of %v took the run from %v (%s) to %v (%s)", phase, plain.Virtual, plain.Trace, later.Virtual, later.Trace)
	}
	if turned.Trace == plain.Trace {
		t.Error("another turn gave the same times")
	}
	placed := report(func(c *uml.Config) { c.Drives[0].Place = 1000 * unit.MiB })
	if placed.Trace == plain.Trace || placed.Drive.Writes != plain.Drive.Writes {
		t.Errorf("another place gave the same times, or other requests: %+v", placed)
	}
}

// Every end is told apart.
func TestFakeEnds(t *testing.T) {
	for _, tt := range []struct {
		mode   string
		reason machine.Reason
		kind   fault.Kind
		detail string
	}{
		{"off", machine.Exit, fault.Kernel, "powered itself off though nobody had told it to"},
		{"panic", machine.Panic, fault.Kernel, "Kernel panic - not syncing: a test"},
		{"signaled", uml.Signaled, fault.Machinery, "signaled from outside"},
		{"fatal", machine.Fatal, fault.Machinery, "gave up: a test"},
		{"asleep", machine.Hang, fault.Kernel, "every program in the guest sleeps for ever, from 0s of its time on"},
		{"late", machine.Hang, fault.Kernel, "the guest was not done after 1h"},
		{"loop", machine.Hang, fault.Kernel, "computed for 1s while its clock stood still"},
		{"crash", uml.Killed, fault.Machinery, "killed by SIGKILL"},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			cfg := fakeConfig(t, tt.mode)
			cfg.Limit, cfg.Stall = time.Hour, time.Second
			rep, err := uml.Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			e := rep.Ending
			if e.Reason != tt.reason || e.Kind != tt.kind || !strings.Contains(e.Detail, tt.detail) || e.Err() == nil {
				t.Errorf("ended as %s (%v): %s; %v", e.Reason, e.Kind, e.Detail, e.Err())
			}
			log, err := os.ReadFile(filepath.Join(cfg.Dir, uml.Log))
			if err != nil || !strings.Contains(string(log), "# Ended: "+string(tt.reason)) {
				t.Errorf("%s says %q, %v", uml.Log, log, err)
			}
		})
	}
}

// A guest that does not keep to the protocols is an error of the machinery: what
// it said is no measurement.
func TestFakeLiar(t *testing.T) {
	for mode, want := range map[string]string{"liar": `the guest said "done" after ""`, "rings": "999 requests in a ring of 16"} {
		cfg := fakeConfig(t, mode)
		_, err := uml.Run(t.Context(), cfg)
		if err == nil || fault.Of(err) != fault.Machinery || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", mode, err, want)
		}
	}
}

// A guest whose result cannot be kept, as on a full disk, is not waited for; one
// that hangs up and stays not for long.
func TestFakeLingers(t *testing.T) {
	for mode, want := range map[string]string{"lingers": "is a directory", "hangs-up": "hung up, and was still there"} {
		t.Run(mode, func(t *testing.T) {
			cfg := fakeConfig(t, mode)
			if err := os.Mkdir(filepath.Join(cfg.Dir, "result.json"), 0o755); err != nil {
				t.Fatal(err)
			}
			_, err := uml.Run(t.Context(), cfg)
			if err == nil || fault.Of(err) != fault.Machinery || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

// When the context ends so does the guest.
func TestFakeCancel(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { cancel(why) })
	cfg := fakeConfig(t, "loop")
	if _, err := uml.Run(ctx, cfg); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
}

// What cannot be is the plan's fault, before anything starts.
func TestConfig(t *testing.T) {
	for name, change := range map[string]func(*uml.Config){
		"memory":    func(c *uml.Config) { c.Memory = 1 * unit.MiB },
		"no kernel": func(c *uml.Config) { c.Kernel += ".gone" },
		"argument":  func(c *uml.Config) { c.Append = []string{"a\nb"} },
		"bus":       func(c *uml.Config) { c.Drives[0].Spec.Bus = drive.AHCI },
		"place":     func(c *uml.Config) { c.Drives[0].Place = 500 * unit.GiB },
	} {
		cfg := fakeConfig(t, "off")
		change(&cfg)
		if _, err := uml.Run(t.Context(), cfg); err == nil || fault.Of(err) != fault.Plan {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
