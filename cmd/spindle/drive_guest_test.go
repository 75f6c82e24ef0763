package main

import (
	"testing"
	"time"

	"spindle/pipeline"
	drives "spindle/pipeline/drive"
	"spindle/pipeline/drive/check"
)

// The plan of a check in a guest is a good plan, with a workload for each load.
func TestCheckPlan(t *testing.T) {
	for _, s := range []drives.Spec{
		{Profile: "sata-7200"}, {Profile: "ssd-sata", Size: 1 << 30}, {Profile: "nlsas-2t", QueueDepth: 4, MediaRate: 40e6},
	} {
		loads, err := check.GuestLoads(s)
		if err != nil {
			t.Fatal(err)
		}
		text := checkPlan(s, loads, 5*time.Second)
		p, err := pipeline.Load("drive-check.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if len(p.Workloads) != len(loads) || p.Workloads[0].Slug() != loadName(0) {
			t.Errorf("%d workloads for %d loads: %s", len(p.Workloads), len(loads), text)
		}
		want, err := s.Device()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Drives["drive"].Device(); err != nil || got != want {
			t.Errorf("the plan's drive is %+v (%v), want %+v", got, err, want)
		}
	}
}
