package plans_test

import (
	"os"
	"path/filepath"
	"testing"

	"spindle/internal/proc/proctest"
	"spindle/pipeline"
	"spindle/reports/record"
)

// The rig of bfq-dsync-2019 against itself: the effect in its one place, and in
// no control. It builds two kernels and boots 36 guests with a timed drive, which
// nothing else may disturb, so it is run by name.
func TestRig(t *testing.T) {
	if os.Getenv("SPINDLE_TEST_RIG") == "" {
		t.Skip("builds two kernels and wants a quiet host for an hour: SPINDLE_TEST_RIG=1 go test -timeout 3h -run TestRig ./pipeline/plans")
	}
	proctest.Need(t, "qemu-system-x86_64", "mmdebstrap", "mksquashfs", "apt-get", "dpkg-deb", "depmod", "go", "git", "make", "gcc", "ld", "flex", "bison", "bc")
	env := environment(t)
	file, err := filepath.Abs(filepath.Join("testdata", "bfq-rig.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.Load(file, text)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	if err := pipeline.Run(t.Context(), env, p, dir); err != nil {
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
	effect := record.Cell{Arm: "before", Condition: record.Condition{Drive: "raid", Filesystem: "ext4", Scheduler: "bfq", Workload: "in-group"}}
	var stuck, slowest float64
	for _, s := range samples {
		if s.Outcome.Kind != record.OK || len(s.Metrics) == 0 {
			t.Fatalf("%+v: %+v", s.Cell, s.Outcome)
		}
		runtime := s.Metrics[0].Value
		t.Logf("%s %s %s %s: %.2f s", s.Condition.Filesystem, s.Condition.Scheduler, s.Condition.Workload, s.Arm, runtime)
		if s.Cell == effect {
			stuck = runtime
		} else {
			slowest = max(slowest, runtime)
		}
	}
	// 400 writes of 8 ms of idling each, beside what the slowest control takes.
	if stuck < 400*0.008 || stuck < 1.5*slowest {
		t.Errorf("%.2f s where BFQ idles, and up to %.2f s in the controls", stuck, slowest)
	}
}

// The plan of the rig is one, also where it is not run.
func TestRigPlan(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "bfq-rig.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p := load(t, string(text))
	if n := len(pipeline.Layout(p)[0].Cells); n != 36 {
		t.Errorf("%d samples, want 36", n)
	}
}
