package pipeline

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/procfs"

	"spindle/reports/record"
)

// counters are what a /proc says, in its own units.
type counters struct {
	user, idle, steal int // ticks of 10 ms
	cpu, io, memory   int // µs
}

func (c counters) write(t *testing.T, proc string) {
	t.Helper()
	pressure := func(us int) string {
		return fmt.Sprintf("some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", us)
	}
	for name, text := range map[string]string{
		"loadavg":         "1.75 1.00 0.50 2/345 6789\n",
		"stat":            fmt.Sprintf("cpu  %d 0 0 %d 0 0 0 %d 0 0\nctxt 1\nbtime 1700000000\nprocesses 1\n", c.user, c.idle, c.steal),
		"pressure/cpu":    pressure(c.cpu),
		"pressure/io":     pressure(c.io),
		"pressure/memory": pressure(c.memory),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(proc, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNoise(t *testing.T) {
	before := counters{user: 1000, idle: 5000, steal: 70, cpu: 3_000_000, io: 1_000_000, memory: 500_000}
	for _, tc := range []struct {
		name  string
		after counters
		want  record.HostNoise
	}{
		{"quiet", before, record.HostNoise{Load1: 1.75}},
		// 50 of 2000 ticks were stolen; of 10 s some task waited 2 for a CPU,
		// 0.5 for a disk, 0.1 for memory.
		{"busy", counters{user: 1950, idle: 6000, steal: 120, cpu: 5_000_000, io: 1_500_000, memory: 600_000},
			record.HostNoise{Load1: 1.75, Steal: 0.025, PressureCPU: 0.2, PressureIO: 0.05, PressureMemory: 0.01}},
		{"nothing but stolen", counters{user: 1000, idle: 5000, steal: 170, cpu: 13_000_000, io: 11_000_000, memory: 10_500_000},
			record.HostNoise{Load1: 1.75, Steal: 1, PressureCPU: 1, PressureIO: 1, PressureMemory: 1}},
		// A clock that was read a little later than ours.
		{"a bit more than all", counters{user: 1000, idle: 5000, steal: 70, cpu: 13_000_400, io: 1_000_000, memory: 500_000},
			record.HostNoise{Load1: 1.75, PressureCPU: 1}},
		// Some hypervisors let the stolen time run backwards.
		{"backwards", counters{user: 1100, idle: 6000, steal: 60, cpu: 2_000_000, io: 1_000_000, memory: 500_000},
			record.HostNoise{Load1: 1.75}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			proc := t.TempDir()
			before.write(t, proc)
			fs, err := procfs.NewFS(proc)
			if err != nil {
				t.Fatal(err)
			}
			var got record.HostNoise
			synctest.Test(t, func(t *testing.T) {
				n := startNoiseOf(fs)
				time.Sleep(10 * time.Second)
				tc.after.write(t, proc)
				got = n.stop()
			})
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("noise (-want +got):\n%s", diff)
			}
		})
	}
}

// A kernel without pressure figures, or without anything, leaves zeroes.
func TestNoiseUnknown(t *testing.T) {
	fs, err := procfs.NewFS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []*noise{startNoiseOf(fs), {began: time.Now()}} {
		if got := n.stop(); got != (record.HostNoise{}) {
			t.Errorf("noise of an empty /proc: %+v", got)
		}
	}
}

func TestNoiseOfThisHost(t *testing.T) {
	n := startNoise()
	time.Sleep(20 * time.Millisecond)
	got := n.stop()
	for name, v := range map[string]float64{"steal": got.Steal, "cpu": got.PressureCPU, "io": got.PressureIO, "memory": got.PressureMemory} {
		if !(v >= 0 && v <= 1) {
			t.Errorf("%s %v, want a share from 0 to 1", name, v)
		}
	}
	if !(got.Load1 >= 0) || math.IsInf(got.Load1, 0) {
		t.Errorf("load %v", got.Load1)
	}
}
