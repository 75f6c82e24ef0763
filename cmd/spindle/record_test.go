package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"spindle/reports/record"
)

func recordRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: record DIR [DAYS-LATER]")
	}
	days := 0
	if len(args) == 2 {
		var err error
		days, err = strconv.Atoi(args[1])
		ts.Check(err)
	}
	ts.Check(writeRun(ts.MkAbs(args[0]), 5, days))
}

// doneRun writes one with nothing left to measure.
func doneRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: done DIR")
	}
	ts.Check(writeRun(ts.MkAbs(args[0]), 4, 0))
}

// writeRun writes a run of two arms under one condition: four blocks in which
// the second takes about a tenth longer; of more blocks the rest is not yet
// measured.
func writeRun(dir string, blocks, days int) error {
	runtime := record.MetricInfo{Name: "runtime", Unit: "s", Direction: record.Lower, Primary: true}
	condition := record.Condition{Drive: "sata", Filesystem: "ext4", Scheduler: "bfq", Workload: "dd"}
	began := time.Date(2026, 11, 30+days, 9, 12, 0, 0, time.UTC)
	m := record.Manifest{
		Name: "wbt", Spindle: "v0.1.0", Command: []string{"spindle", "run", "wbt.yaml"}, Started: began, Seed: 1,
		Plan: record.Plan{Path: "wbt.yaml", Text: "name: wbt\n"}, Compare: "arm",
		Arms:       []record.Arm{{Name: "vanilla", Kernel: "base"}, {Name: "patched", Kernel: "patched"}},
		Conditions: []record.Condition{condition},
		Kernels: []record.Kernel{
			{Name: "base", Source: "linux-image-6.12=6.12.57-1", Version: "6.12.57", Hash: strings.Repeat("9fc3a6e0", 8)},
			{Name: "patched", Source: "/boot/bzImage", Version: "6.12.57-wbt", Hash: strings.Repeat("77d01c2b", 8)},
		},
		Image:       record.Image{Suite: "bookworm", Hash: strings.Repeat("1a2b3c4d", 8), GuestHash: strings.Repeat("5e6f7081", 8)},
		Machine:     record.Machine{QEMU: "7.2.22", Accel: "kvm", CPUs: 2, CPUModel: "max", MemoryBytes: 4 << 30},
		Drives:      []record.Drive{{Name: "sata", Profile: "sata-7200", Bus: "ahci", QueueDepth: 1, SizeBytes: 500e9, Model: "7200 rpm"}},
		Filesystems: []record.Filesystem{{Name: "ext4"}},
		Workloads:   []record.Workload{{Name: "dd", Title: "dd 10000 MiB", Metrics: []record.MetricInfo{runtime}}},
	}
	for range blocks {
		m.Blocks = append(m.Blocks, []record.Cell{{Arm: "vanilla", Condition: condition}, {Arm: "patched", Condition: condition}})
	}
	r, err := record.Create(dir, m)
	if err != nil {
		return err
	}
	defer r.Close()
	seconds := [][2]float64{{90.1, 99.6}, {89.4, 98.3}, {90.8, 100.1}, {89.9, 98.7}}
	for i, pair := range seconds {
		for j, value := range pair {
			s := record.Sample{
				Block: i + 1, Cell: m.Blocks[i][j], Attempt: 1, Started: began.Add(time.Duration(2*i+j) * 2 * time.Minute),
				Outcome: record.Outcome{Kind: record.OK}, Accel: "kvm", WorkloadSeconds: value,
				Metrics: []record.Metric{{MetricInfo: runtime, Value: value}},
			}
			d, err := r.Begin(s.Block, s.Cell, 1)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(d.Dir(), record.ConsoleLog), []byte("Linux version 6.12.57\n"), 0o666); err != nil {
				return err
			}
			if err := d.Commit(s); err != nil {
				return err
			}
		}
	}
	return nil
}
