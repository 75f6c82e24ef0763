package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"spindle/reports"
	"spindle/reports/record"
)

// measuredSeries puts the run into a series' directory that spindle laid out,
// with the arms that it has, as if it had been measured: patch N makes dd slower
// by a fifth, 0 is none.
func measuredSeries(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: measured DIR N")
	}
	slow, err := strconv.Atoi(args[1])
	ts.Check(err)
	dir := ts.MkAbs(args[0])
	text, err := os.ReadFile(filepath.Join(dir, "series.json"))
	ts.Check(err)
	var s reports.Series
	ts.Check(json.Unmarshal(text, &s))
	number := map[string]int{s.Base: 0}
	arms := []string{s.Base}
	for _, p := range s.Patches {
		if p.Arm != "" {
			arms = append(arms, p.Arm)
			number[p.Arm] = p.Number
		}
	}
	ts.Check(writeArms(filepath.Join(dir, "run"), arms, s.Text, time.Date(2026, 11, 30, 9, 12, 0, 0, time.UTC), func(arm string, block int) float64 {
		v := 90 + 0.3*float64((block*7+len(arm)*number[arm])%5)
		if slow > 0 && number[arm] >= slow {
			v *= 1.2
		}
		return v
	}))
}

// nightRuns writes runs of one plan, a day apart.
func nightRuns(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: nights DIR N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	for night := range n {
		began := time.Date(2026, 11, 1+night, 3, 0, 0, 0, time.UTC)
		ts.Check(writeArms(filepath.Join(ts.MkAbs(args[0]), strconv.Itoa(night)), []string{"vanilla", "next"}, "name: wbt\n", began, func(_ string, block int) float64 {
			v := 90 + 0.4*float64((night*5+block*3)%7)
			if night >= 5 {
				v *= 1.1
			}
			return v
		}))
	}
}

// writeArms writes a run of four blocks under one condition.
func writeArms(dir string, arms []string, plan string, began time.Time, seconds func(arm string, block int) float64) error {
	runtime := record.MetricInfo{Name: "runtime", Unit: "s", Direction: record.Lower, Primary: true}
	condition := record.Condition{Drive: "sata", Filesystem: "ext4", Scheduler: "bfq", Workload: "dd"}
	m := record.Manifest{
		Name: "wbt", Spindle: "v0.1.0", Started: began, Seed: 1, Compare: "arm",
		Plan:       record.Plan{Path: "wbt.yaml", Text: plan},
		Conditions: []record.Condition{condition},
		Image:      record.Image{Suite: "bookworm", Hash: strings.Repeat("1a2b3c4d", 8)},
		Machine:    record.Machine{QEMU: "7.2.22", Accel: "kvm", CPUs: 2, CPUModel: "max", MemoryBytes: 4 << 30},
		Drives:     []record.Drive{{Name: "sata", Profile: "sata-7200", Bus: "ahci", QueueDepth: 1, SizeBytes: 500e9, Model: "7200 rpm"}},
		Workloads:  []record.Workload{{Name: "dd", Title: "dd 10000 MiB", Metrics: []record.MetricInfo{runtime}}},
	}
	var block []record.Cell
	for i, a := range arms {
		m.Arms = append(m.Arms, record.Arm{Name: a, Kernel: "k" + a})
		m.Kernels = append(m.Kernels, record.Kernel{Name: "k" + a, Source: "linux " + a, Version: "6.12.57", Hash: strings.Repeat(fmt.Sprintf("%08x", i+1), 8)})
		block = append(block, record.Cell{Arm: a, Condition: condition})
	}
	for range 4 {
		m.Blocks = append(m.Blocks, block)
	}
	r, err := record.Create(dir, m)
	if err != nil {
		return err
	}
	defer r.Close()
	for b := range m.Blocks {
		for i, c := range block {
			d, err := r.Begin(b+1, c, 1)
			if err != nil {
				return err
			}
			s := record.Sample{Outcome: record.Outcome{Kind: record.OK}, Accel: "kvm", Started: began.Add(time.Duration(b*len(block)+i) * time.Minute),
				Metrics: []record.Metric{{MetricInfo: runtime, Value: seconds(c.Arm, b+1)}}}
			if err := d.Commit(s); err != nil {
				return err
			}
		}
	}
	return nil
}
