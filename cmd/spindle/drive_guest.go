package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/pipeline"
	drives "spindle/pipeline/drive"
	"spindle/pipeline/drive/check"
	"spindle/pipeline/drive/timing"
	"spindle/reports/record"
)

// checkInGuest runs the loads of a check in a guest, as a plan with one arm and
// a workload for each, and holds what fio says there against the model.
func (a *app) checkInGuest(ctx context.Context, s drives.Spec, o check.Options) (check.Result, error) {
	r := check.Result{Drive: s.Describe(), Where: "guest"}
	loads, err := check.GuestLoads(s)
	if err != nil {
		return r, err
	}
	p, err := pipeline.Load("drive-check.yaml", []byte(checkPlan(s, loads, o.Each)))
	if err != nil {
		return r, err
	}
	env, err := a.env()
	if err != nil {
		return r, err
	}
	tapes := map[string]*check.Tape{}
	for i := range loads {
		tapes[loadName(i)] = new(check.Tape)
	}
	env.Tape = func(c record.Cell, q timing.Request) { tapes[c.Condition.Workload].Note(q) }
	dir, remove, err := proc.TempDir(ctx, "", "drive-check")
	if err != nil {
		return r, err
	}
	defer remove()
	run := filepath.Join(dir, "run")
	if err := pipeline.Run(ctx, env, p, run); err != nil {
		return r, err
	}
	rec, err := record.Open(run)
	if err != nil {
		return r, err
	}
	for _, d := range rec.Manifest().Drives {
		r.Early = time.Duration(d.Early.ReadSeconds * float64(time.Second))
	}
	samples, err := rec.Samples()
	if err != nil {
		return r, err
	}
	for i, j := range loads {
		per, err := check.Asked(s, j, tapes[loadName(i)].Rewind(), o.Seed)
		if err == nil && per == 0 {
			per, _, err = check.Expect(s, j, o.Each, o.Seed)
		}
		if err != nil {
			return r, err
		}
		for _, x := range samples {
			if x.Condition.Workload != loadName(i) {
				continue
			}
			if x.Outcome.Kind != record.OK {
				return r, fault.New(fault.Machinery, x.Outcome.Reason, fmt.Errorf("check %s in the guest: %s", j.Name, x.Outcome.Detail))
			}
			row := check.GuestRow(s, j, per, value(x, "read iops")+value(x, "write iops"))
			row.LatenessP50, row.LatenessP99 = x.Drive.LatenessP50, x.Drive.LatenessP99
			row.Requests = int(x.Drive.Requests)
			r.Rows = append(r.Rows, row)
		}
	}
	return r, nil
}

// value is a metric of a sample; 0 for one that it has not.
func value(s record.Sample, name string) float64 {
	for _, m := range s.Metrics {
		if m.Name == name {
			return m.Value
		}
	}
	return 0
}

func loadName(i int) string { return fmt.Sprintf("load-%d", i+1) }

// checkPlan writes the plan of a check.
func checkPlan(s drives.Spec, loads []check.Load, seconds time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, `name: drive-check
kernels:
  linux: {deb: linux-image-6.12-amd64}
machine: {memory: 512MiB}
drives:
  drive: {profile: %q`, s.Profile)
	if s.QueueDepth != 0 {
		fmt.Fprintf(&b, ", queue-depth: %d", s.QueueDepth)
	}
	if s.Size != 0 {
		fmt.Fprintf(&b, ", size: %s", s.Size)
	}
	if s.MediaRate != 0 {
		fmt.Fprintf(&b, ", media-rate: %s", s.MediaRate)
	}
	b.WriteString("}\narms:\n  linux: {kernel: linux}\nconditions:\n  filesystem: [none]\n  scheduler: [none]\nrepeat: 1\nworkloads:\n")
	dev, err := s.Device()
	if err != nil {
		return ""
	}
	for i, j := range loads {
		offset, length := j.Range(dev.Size)
		fmt.Fprintf(&b, "  - name: %s\n    fio:\n      on: device\n      options:\n", loadName(i))
		// What fio computes between two requests is the emulated CPU's time, and
		// would be held against the drive: the plainest engine.
		engine := "libaio"
		if j.Depth == 1 {
			engine = "psync"
		}
		for _, x := range [][2]string{
			{"ioengine", engine}, {"direct", "1"}, {"rw", j.RW}, {"bs", fmt.Sprint(int64(j.Block))}, {"iodepth", fmt.Sprint(j.Depth)},
			{"runtime", fmt.Sprint(int(seconds.Seconds()))}, {"offset", fmt.Sprint(int64(offset))}, {"size", fmt.Sprint(int64(length))},
			{"norandommap", "1"}, {"zero_buffers", "1"},
		} {
			fmt.Fprintf(&b, "        %s: %q\n", x[0], x[1])
		}
		if j.Fsync {
			fmt.Fprintf(&b, "        fsync: \"1\"\n")
		}
	}
	return b.String()
}
