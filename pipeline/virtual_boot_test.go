package pipeline

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"spindle/internal/proc"
	"spindle/internal/proc/proctest"
	"spindle/internal/store/storetest"
	"spindle/pipeline/machine/uml"
	"spindle/reports"
	"spindle/reports/record"
)

// virtualBootPlan is run with real guests in virtual time.
const virtualBootPlan = `
name: virtual-boot
kernels:
  um: {path: KERNEL, arch: um}
drives:
  sata: {profile: sata-7200, queue-depth: 1, size: 1GiB}
arms:
  base: {kernel: um}
  tuned: {kernel: um, sysctl: {vm.dirty_ratio: 5, vm.dirty_background_ratio: 2}}
  broken: {kernel: um, cmdline: rdinit=/there/is/none}
conditions:
  filesystem: [ext4]
  scheduler: [mq-deadline]
workloads:
  - dd: {size: 32MiB, conv: fsync}
machine: {time: virtual, memory: 256MiB}
repeat: 2
`

// virtually gives what a test with real guests in virtual time needs: the kernel
// that the environment names (package uml's tests say how it is made), and the
// user's own store, for the image.
func virtually(t testing.TB, plan string) (Env, *Plan) {
	t.Helper()
	if testing.Short() {
		t.Skip("boots guests: not with -short")
	}
	kernel := os.Getenv("SPINDLE_UML_KERNEL")
	switch {
	case kernel != "":
	case os.Getenv("CI") == "true":
		t.Fatal("no kernel: SPINDLE_UML_KERNEL is not set; .ci/run builds one")
	default:
		t.Skip("wants a kernel for User Mode Linux: see go test -v ./pipeline/machine/uml")
	}
	proctest.Need(t, "setarch", "mmdebstrap", "mksquashfs", "go")
	_, st := storetest.User(t)
	env := NewEnv(st, t.TempDir(), nil, time.Now, "", "test", []string{"test"})
	env.Temp = t.TempDir()
	return env, mustLoad(t, strings.ReplaceAll(plan, "KERNEL", kernel))
}

// A whole run in virtual time, twice: each sample comes out the same again, also
// in another run, in another directory.
func TestVirtualRun(t *testing.T) {
	env, p := virtually(t, virtualBootPlan)
	env.Twice = true
	var runs [][]record.Sample
	for i, name := range []string{"run", "another run of it"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := Run(t.Context(), env, p, dir); err != nil {
			t.Fatal(err)
		}
		run, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		samples, err := run.Samples()
		if err != nil || len(samples) != 6 {
			t.Fatalf("%d samples, want 6; %v", len(samples), err)
		}
		slices.SortFunc(samples, func(a, b record.Sample) int {
			return strings.Compare(run.SampleDir(a.Block, a.Cell), run.SampleDir(b.Block, b.Cell))
		})
		runs = append(runs, samples)
		for _, s := range samples {
			if s.Arm == "broken" {
				if o := s.Outcome; o.Kind != record.KernelFault || o.Reason != "panic" || o.Log != record.ConsoleLog || o.Line == 0 {
					t.Errorf("outcome of the arm without init: %+v", o)
				}
				continue
			}
			if s.Outcome.Kind != record.OK || len(s.Metrics) == 0 || s.Virtual.Requests == 0 || s.Virtual.Spins != 0 {
				t.Errorf("%s in block %d: %+v, %+v", s.Arm, s.Block, s.Outcome, s.Virtual)
			}
			if s.Virtual.SameAgain != (i == 0) {
				t.Errorf("run %d says of a second time: %v", i, s.Virtual.SameAgain)
			}
			if _, err := os.Stat(filepath.Join(run.SampleDir(s.Block, s.Cell), uml.RequestLog)); err != nil {
				t.Error(err)
			}
		}
		if i == 0 {
			checkVirtualReport(t, dir)
		}
		env.Twice = false
	}
	for i, s := range runs[0] {
		if err := sameAgain(s, runs[1][i]); err != nil {
			t.Errorf("%s in block %d: %v", s.Arm, s.Block, err)
		}
	}
	if a, b := byArm(runs[0], "base"), byArm(runs[0], "tuned"); a[0].Virtual.Trace == a[1].Virtual.Trace || a[0].Virtual.Trace == b[0].Virtual.Trace {
		t.Error("two blocks, or two arms, came out as one")
	}
}

func byArm(samples []record.Sample, arm string) (out []record.Sample) {
	for _, s := range samples {
		if s.Arm == arm {
			out = append(out, s)
		}
	}
	return out
}

// enginePlan has a program that does its I/O by each of three ways.
const enginePlan = `
name: engines
kernels:
  um: {path: KERNEL, arch: um}
drives:
  sata: {profile: sata-7200, queue-depth: 31, size: 1GiB}
arms:
  base: {kernel: um}
conditions:
  filesystem: [ext4]
  scheduler: [none]
workloads:
  - name: psync
    fio: {options: {rw: randwrite, bs: 4k, size: 16m, ioengine: psync, fsync: "16", runtime: "1", time_based: "1"}}
  - name: libaio
    fio: {options: {rw: randread, bs: 4k, size: 16m, ioengine: libaio, iodepth: "16", direct: "1", runtime: "1", time_based: "1"}}
  - name: io-uring
    fio: {options: {rw: randrw, bs: 4k, size: 16m, ioengine: io_uring, iodepth: "16", direct: "1", runtime: "1", time_based: "1"}}
machine: {time: virtual, memory: 256MiB}
repeat: 1
`

// Every engine of fio's works, and one comes out the same also while all CPUs of
// the host have something else to do. The start of fio, which calibrates its clock,
// takes most of the time.
func TestVirtualEngines(t *testing.T) {
	env, p := virtually(t, enginePlan)
	kit, err := Prepare(t.Context(), env, p)
	if err != nil {
		t.Fatal(err)
	}
	samples := func(cells []record.Cell) (out []record.Sample) {
		for _, cell := range cells {
			s, err := carryOut(t.Context(), env, kit, p, 1, cell, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if s.Outcome.Kind != record.OK || len(s.Metrics) == 0 || s.Virtual.Spins != 0 {
				t.Errorf("%s: %+v, %+v", cell.Condition.Workload, s.Outcome, s.Virtual)
			}
			t.Logf("%s: %d requests, trace %.12s, %.1f s of virtual time in %.1f s",
				cell.Condition.Workload, s.Virtual.Requests, s.Virtual.Trace, s.Virtual.Seconds, s.Virtual.WallSeconds)
			out = append(out, s)
		}
		return out
	}
	cells := Layout(p)[0].Cells
	alone := samples(cells)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 * runtime.NumCPU() {
		if _, err := proc.Start(ctx, proc.Cmd{Path: "sh", Args: []string{"-c", "while :; do :; done"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := sameAgain(alone[0], samples(cells[:1])[0]); err != nil {
		t.Error(err)
	}
}

// checkVirtualReport looks for what the report must say of a run in virtual
// time, and for the plot of requests.
func checkVirtualReport(t *testing.T, dir string) {
	t.Helper()
	if _, err := reports.Write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Join(strings.Fields(string(text)), " ")
	for _, want := range []string{"virtual time", "Not modelled", "500 ns a system call"} {
		if !strings.Contains(words, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if plots, _ := filepath.Glob(filepath.Join(dir, "requests_*.svg")); len(plots) == 0 {
		t.Error("no plot of requests")
	}
}
