package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spindle/internal/fault"
	"spindle/reports/record"
	"spindle/workloads"
)

func TestClocksAgree(t *testing.T) {
	for _, tc := range []struct {
		name        string
		guest, host float64 // seconds
		agree       bool
	}{
		{"same", 10, 10, true},
		{"within 2 % and 250 ms", 10.44, 10, true},
		{"guest fast", 10.46, 10, false},
		{"guest slow", 9.54, 10, false},
		{"short", 0.2, 0.4, true},
		{"short, and far off", 0.1, 0.4, false},
		{"long", 1019, 1000, true},
		{"long, and off", 1021, 1000, false},
		{"guest's clock stands still", 0, 10, false},
	} {
		s := &record.Sample{WorkloadSeconds: tc.host, Phases: []record.Phase{
			{Name: "mkfs", Seconds: 99}, {Name: workloads.TimedPhase, Seconds: tc.guest},
		}}
		err := clocksAgree(s)
		switch {
		case tc.agree && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case !tc.agree && (fault.Of(err) != fault.Machinery || fault.Reason(err) != "guest-clock" || fault.Hint(err) == ""):
			t.Errorf("%s: error %v, want the machinery's with reason guest-clock and a hint", tc.name, err)
		}
	}
	// A job that failed before its timed part has nothing to compare.
	if err := clocksAgree(&record.Sample{Phases: []record.Phase{{Name: "mkfs", Seconds: 3}}}); err != nil {
		t.Errorf("no timed part: %v", err)
	}
}

func result(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), workloads.ResultFile)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadResult(t *testing.T) {
	runtime := record.Metric{MetricInfo: record.MetricInfo{Name: "runtime", Unit: "s", Direction: record.Lower, Primary: true}, Value: 3.5}
	res := workloads.Result{
		Outcome: record.Outcome{Kind: record.OK}, Metrics: []record.Metric{runtime},
		Phases:   []record.Phase{{Name: workloads.TimedPhase, Seconds: 3.5}},
		Settings: map[string]string{"vm.dirty_ratio": "20"}, Programs: map[string]string{"dd": "9.1"},
		Mkfs: "mkfs.ext4 -F /dev/sda", Mount: "mount /dev/sda /mnt", CPUBusy: 0.25, Warnings: []string{"from the guest"},
	}
	text, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	// What the host filled in stays.
	got := record.Sample{Block: 2, BootSeconds: 8, Warnings: []string{"from the host"}}
	if err := readResult(result(t, string(text)), &got); err != nil {
		t.Fatal(err)
	}
	want := record.Sample{
		Block: 2, BootSeconds: 8, Warnings: []string{"from the host", "from the guest"},
		Outcome: res.Outcome, Metrics: res.Metrics, Phases: res.Phases, Settings: res.Settings, Programs: res.Programs,
		Mkfs: res.Mkfs, Mount: res.Mount, CPUBusy: res.CPUBusy,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sample (-want +got):\n%s", diff)
	}
}

func TestReadResultThatFailed(t *testing.T) {
	// The kernel's failure is a result like any other.
	var s record.Sample
	if err := readResult(result(t, `{"outcome": {"kind": "kernel", "reason": "mkfs", "detail": "exit status 1"}}`), &s); err != nil {
		t.Error(err)
	}
	if want := (record.Outcome{Kind: record.KernelFault, Reason: "mkfs", Detail: "exit status 1"}); s.Outcome != want {
		t.Errorf("outcome %+v, want %+v", s.Outcome, want)
	}
	// The rest is ours, so that the sample is tried again.
	for _, tc := range []struct{ name, text, want string }{
		{"machinery", `{"outcome": {"kind": "machinery", "reason": "no-drive", "detail": "no drive spindle-d0"}}`, "no-drive: no drive spindle-d0"},
		{"cut short", `{"outcome": {"kind": "ok"`, "unexpected end of JSON input"},
		{"empty", "", "unexpected end of JSON input"},
		{"of another shape", `{"outcome": "ok"}`, "cannot unmarshal"},
		{"no outcome", `{}`, `it has outcome ""`},
		{"unknown outcome", `{"outcome": {"kind": "fine"}}`, `it has outcome "fine"`},
	} {
		err := readResult(result(t, tc.text), new(record.Sample))
		if err == nil || fault.Of(err) != fault.Machinery || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want the machinery's with %q", tc.name, err, tc.want)
		}
	}
	if err := readResult(filepath.Join(t.TempDir(), "none"), new(record.Sample)); !errors.Is(err, fs.ErrNotExist) || fault.Of(err) != fault.Machinery {
		t.Errorf("no result: %v", err)
	}
}

// The machine's own view of its end is tested with real machines; this is what
// becomes of a kernel's fault that it has no view of.
func TestOutcome(t *testing.T) {
	err := fmt.Errorf("boot: %w", fault.New(fault.Kernel, "hang", errors.New("no word from init in 120 s")))
	got := (&rig{}).outcome(err)
	want := record.Outcome{Kind: record.KernelFault, Reason: "hang", Detail: "boot: hang: no word from init in 120 s"}
	if got != want {
		t.Errorf("outcome %+v, want %+v", got, want)
	}
}

// Whoever stops a run is the reason for what the guest did not do.
func TestExplainInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupt")
	cancel(why)
	if err := (&rig{}).explain(ctx, errors.New("connection lost")); !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
}

// A QEMU that does not start is ours: three attempts, all kept with their
// reason, no sample, and an error that says how far the run came.
func TestCarryGivesUp(t *testing.T) {
	p := load(t, slowAndFast)
	env := envAt(1)
	env.Temp, env.Rand = t.TempDir(), zeroes{}
	kit := kitOf(p)
	dir := t.TempDir()
	kit.QEMU, kit.Initrd = filepath.Join(dir, "qemu"), map[string]string{"k": filepath.Join(dir, "initrd")}
	k := kit.Kernels["k"]
	k.Boot = filepath.Join(dir, "vmlinuz")
	kit.Kernels["k"], kit.Image.Root = k, filepath.Join(dir, "root")
	for path, text := range map[string]string{kit.QEMU: "#!/bin/sh\necho no such machine >&2\nexit 1\n", kit.Initrd["k"]: "initrd", k.Boot: "kernel", kit.Image.Root: "root"} {
		if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	r, err := record.Create(filepath.Join(t.TempDir(), "run"), manifest(env, kit, p))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	err = carry(t.Context(), env, kit, p, r)
	var stopped Stopped
	if !errors.As(err, &stopped) || stopped.Done != 0 || stopped.Of != 8 || stopped.Dir != r.Dir() {
		t.Fatalf("error %v, want Stopped at 0 of 8", err)
	}
	if fault.Of(err) != fault.Machinery || !strings.Contains(err.Error(), "gave up after 3 attempts") || !strings.Contains(err.Error(), "no such machine") {
		t.Errorf("error %v", err)
	}
	attempts, err := r.Attempts()
	if err != nil || len(attempts) != 3 {
		t.Fatalf("%d attempts, %v; want 3", len(attempts), err)
	}
	for _, a := range attempts {
		if !strings.Contains(a.Reason, "no such machine") {
			t.Errorf("attempt %+v does not say why", a)
		}
	}
	if samples, err := r.Samples(); err != nil || len(samples) != 0 {
		t.Errorf("%d samples, %v", len(samples), err)
	}
	if left, err := os.ReadDir(env.Temp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	// Stopped from outside, it does not try again.
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	err = carry(ctx, env, kit, p, r)
	if !errors.As(err, &stopped) || !strings.Contains(err.Error(), "enough") {
		t.Errorf("error %v, want enough", err)
	}
	if attempts, err := r.Attempts(); err != nil || len(attempts) != 4 || attempts[3].Reason != "interrupted" {
		t.Errorf("%d attempts, %v; want a fourth that was interrupted", len(attempts), err)
	}
}

// zeroes are random enough for keys that nobody uses.
type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }
