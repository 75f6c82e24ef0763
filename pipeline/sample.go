package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"spindle/internal/fault"
	"spindle/pipeline/machine"
	"spindle/reports/record"
	"spindle/workloads"
)

// carryOut makes one sample: boots the cell in a fresh guest, runs its
// workload with the drive's timing on, and leaves the raw logs in dir.
//
// A kernel that fails gives a sample whose outcome says so, and no error. An
// error is ours: then the attempt does not count.
func carryOut(ctx context.Context, env Env, k *Kit, p *Plan, block int, cell record.Cell, dir string) (record.Sample, error) {
	if err := k.Broken[p.Arm(cell.Arm).Kernel]; err != nil {
		return brokenSample(env, k, block, cell, dir, err)
	}
	if p.Virtual() {
		return carryOutVirtual(ctx, env, k, p, block, cell, dir)
	}
	s := record.Sample{
		Block: block, Cell: cell, Started: env.Now().UTC(), Accel: string(k.Accel),
		Outcome: record.Outcome{Kind: record.OK},
	}
	// Every wait below has a limit of its own; this one is for what nobody
	// thought of.
	limit := p.SampleLimit(cell.Condition) + 3*p.Machine.BootLimit.Std() + time.Minute + p.agingLimit(cell.Condition)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("sample not done after %v, though each of its steps has a shorter limit", limit))
	defer cancel()

	began, noise := time.Now(), startNoise()
	var r rig
	defer r.Close()
	err := r.bringUp(ctx, env, k, p, block, cell, dir)
	s.BootSeconds = r.boot.Seconds()
	if err == nil {
		err = r.work(ctx, k, p, &s, dir)
	}
	s.Host, s.TotalSeconds = noise.stop(), time.Since(began).Seconds()
	if err != nil && fault.Of(err) == fault.Kernel {
		s.Outcome, s.Metrics = r.outcome(err), nil
		err = nil
	}
	return s, err
}

// work runs the cell's job in the booted guest and fills in the sample.
func (r *rig) work(ctx context.Context, k *Kit, p *Plan, s *record.Sample, dir string) error {
	j, err := r.begin(ctx, k, p, s.Cell)
	if err != nil {
		return r.explain(ctx, err)
	}
	s.SetupSeconds = j.setup.Seconds()
	if err := j.measure(s); err != nil {
		return r.explain(ctx, err)
	}
	if err := j.collect(ctx, dir); err != nil {
		return r.explain(ctx, err)
	}
	// The drive's own faults come before the guest's view of them: a guest
	// whose drive failed or was late may have failed for that.
	if err := r.drives.Err(); err != nil {
		return err
	}
	if err := r.drives.Late(); err != nil {
		return err
	}
	if err := readResult(filepath.Join(dir, workloads.ResultFile), s); err != nil {
		return err
	}
	if err := clocksAgree(s); err != nil {
		return err
	}
	if err := r.machine.Stop(ctx); err != nil {
		return err
	}
	trouble(s, r.machine.Ending().Findings)
	return nil
}

// readResult fills the sample with what the guest measured.
func readResult(path string, s *record.Sample) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the guest's result: %w", err)
	}
	var res workloads.Result
	if err := json.Unmarshal(text, &res); err != nil {
		return fmt.Errorf("read the guest's result: %w", err)
	}
	s.Outcome, s.Metrics, s.Settings, s.Programs = res.Outcome, res.Metrics, res.Settings, res.Programs
	s.Mkfs, s.Mount, s.Phases, s.CPUBusy = res.Mkfs, res.Mount, res.Phases, res.CPUBusy
	s.Warnings = append(s.Warnings, res.Warnings...)
	switch res.Outcome.Kind {
	case record.OK, record.KernelFault:
		return nil
	case record.Machinery:
		kind := fault.Machinery
		if res.Outcome.Reason == "space" || res.Outcome.Reason == "program-missing" {
			kind = fault.Plan // the same on every fresh guest
		}
		return fault.New(kind, res.Outcome.Reason, errors.New(res.Outcome.Detail))
	}
	return fmt.Errorf("read the guest's result: it has outcome %q", res.Outcome.Kind)
}

// The guest's clock is an emulated one, set going by a calibration at boot that
// a busy host can spoil. All its figures rest on it, so it is held against
// ours: the timed part must have taken both of them as long. The handshake
// takes some milliseconds; the allowance is for a loaded host.
const (
	clockShare     = 0.02
	clockAllowance = 250 * time.Millisecond
)

func clocksAgree(s *record.Sample) error {
	for _, p := range s.Phases {
		if p.Name != workloads.TimedPhase {
			continue
		}
		if off := math.Abs(p.Seconds - s.WorkloadSeconds); off > clockShare*s.WorkloadSeconds+clockAllowance.Seconds() {
			e := fault.New(fault.Machinery, "guest-clock", fmt.Errorf("the timed part took %.3f s by the guest's clock and %.3f s by the host's", p.Seconds, s.WorkloadSeconds))
			e.Hint = "the host is too busy for the guest to keep time"
			return e
		}
	}
	return nil
}

// trouble looks at what the kernel said on its console while the workload ran
// to its end. An oops breaks the sample: what came after it is no measurement.
// A stall that the kernel reported and got over is a warning, since a busy
// host makes an emulated CPU stall too; the workload's own figures show it if
// it mattered.
func trouble(s *record.Sample, findings []machine.Finding) {
	for _, f := range findings {
		switch {
		case f.Reason == machine.Oops && s.Outcome.Kind == record.OK:
			s.Outcome = record.Outcome{Kind: record.KernelFault, Reason: string(f.Reason), Detail: f.Text, Log: record.ConsoleLog, Line: f.Line}
			s.Metrics = nil
		case f.Reason != machine.Oops:
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s: %s (console.log line %d)", f.Reason, f.Text, f.Line))
		}
	}
}
