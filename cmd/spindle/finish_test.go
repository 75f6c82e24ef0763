package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spindle/internal/fault"
	"spindle/internal/progress"
	"spindle/pipeline"
)

// How a run ends: what is written, said, and given to the shell. The run that
// it is about has a verdict of worse.
func TestFinish(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := writeRun(dir, 5, 0); err != nil {
		t.Fatal(err)
	}
	product := filepath.Join(dir, "report.md") + "\n"
	interrupted := pipeline.Stopped{Dir: dir, Done: 8, Of: 10, Err: errors.New("interrupt")}
	for _, tc := range []struct {
		name   string
		gate   bool
		err    error
		code   int
		stdout string
		stderr []string // parts
	}{
		{"fine", false, nil, exitFine, product, nil},
		{"gate", true, nil, exitKernel, product, []string{"spindle: gate: ", "worse"}},
		{"interrupted", false, interrupted, exitMachinery, product, []string{"to go on: spindle run --resume " + dir + "\n", "spindle: stopped with 8 of 10 samples done: interrupt\n"}},
		{"interrupted at the gate", true, interrupted, exitMachinery, product, []string{"8 of 10"}},
		{"never started", true, fault.Planf("kernel base lacks xfs"), exitPlan, "", []string{"spindle: kernel base lacks xfs\n"}},
		{"with a hint", false, fmt.Errorf("start: %w", &fault.Error{Err: errors.New("no room"), Hint: "make some"}), exitMachinery, "", []string{"spindle: start: no room\nspindle: hint: make some\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			a := &app{stdout: &stdout, stderr: &stderr, log: progress.New(&stderr, false, time.Now)}
			if code := a.conclude(a.finish(dir, tc.gate, tc.err)); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			if stdout.String() != tc.stdout {
				t.Errorf("stdout %q, want %q", stdout.String(), tc.stdout)
			}
			for _, want := range tc.stderr {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("stderr %q, want %q", stderr.String(), want)
				}
			}
			if tc.stderr == nil && stderr.Len() > 0 {
				t.Errorf("stderr %q", stderr.String())
			}
		})
	}
}
