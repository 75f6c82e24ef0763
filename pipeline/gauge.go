package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/kernels"
	"spindle/pipeline/drive"
	"spindle/pipeline/guest"
	"spindle/reports/record"
)

// A drive is gauged with requests that all take gaugeService, long enough for the
// guest's CPU to sleep as it does while a disk seeks. In gaugeCount the mean
// settles to some 3 %.
const (
	gaugeService = 10 * time.Millisecond
	gaugeCount   = 100
)

// gauge finds, for each drive with timing, how much longer than the drive takes
// a request takes in the guest, and has the drive answer that much early. It is
// measured once a run, with the baseline's kernel, and is the same for all
// arms: measured for each arm it would hide what an arm changes on that way.
//
// Where no arm boots nothing is gauged; the samples will say why. In virtual time
// a guest notices an answer when it leaves.
func (k *Kit) gauge(ctx context.Context, env Env, p *Plan) error {
	k.Early = map[string]drive.Early{}
	if p.Virtual() {
		return nil
	}
	for _, name := range p.Conditions.Drive {
		if m, err := p.Drives[name].Model(p.Seed); err != nil {
			return err
		} else if m == nil {
			continue
		}
		env.Log.Status(0, 0, 0, "gauging drive %s", name)
		early, err := k.gaugeDrive(ctx, env, p, name)
		env.Log.Clear()
		switch {
		case fault.Of(err) == fault.Kernel:
			env.Log.Printf("drive %s: could not be gauged, answers leave when they are due: %v", name, err)
			continue
		case err != nil:
			return fmt.Errorf("gauge drive %s: %w", name, err)
		}
		k.Early[name] = early
		env.Log.Printf("drive %s: answers to reads leave %.2f ms early (of 64 KiB %.2f), to writes %.2f (%.2f), which is what the guest takes to notice them", name, early.Read.Small.Seconds()*1e3, early.Read.Large.Seconds()*1e3,
			early.Write.Small.Seconds()*1e3, early.Write.Large.Seconds()*1e3)
	}
	return nil
}

// gaugeDrive boots a guest for it, on the first arm that boots.
func (k *Kit) gaugeDrive(ctx context.Context, env Env, p *Plan, name string) (early drive.Early, err error) {
	i := slices.IndexFunc(p.Grid(), func(c record.Condition) bool { return c.Drive == name })
	if i < 0 {
		return early, errors.New("no condition has it")
	}
	for _, arm := range p.Arms {
		cell := record.Cell{Arm: arm.Name, Condition: p.Grid()[i]}
		for range tries {
			early, err = k.gaugeCell(ctx, env, p, cell)
			if err == nil || ctx.Err() != nil || fault.Of(err) != fault.Machinery {
				break
			}
			env.Log.Printf("gauge drive %s: %v", name, err)
		}
		if fault.Of(err) != fault.Kernel {
			break
		}
	}
	return early, err
}

func (k *Kit) gaugeCell(ctx context.Context, env Env, p *Plan, cell record.Cell) (early drive.Early, err error) {
	dir, remove, err := proc.TempDir(ctx, env.Temp, "gauge")
	if err != nil {
		return early, err
	}
	defer remove()
	env.Tape = nil
	var r rig
	defer r.Close()
	if err := r.bringUp(ctx, env, k, p, 1, cell, dir); err != nil {
		return early, err
	}
	r.drives.Gauge(gaugeService)
	modules := kernels.ModulesFor(p.need(cell.Condition))
	for _, g := range []struct {
		to          *time.Duration
		op          string
		count, size int
	}{
		{&early.Read.Small, "read", gaugeCount, drive.EarlySmall},
		{&early.Read.Large, "read", gaugeCount / 2, drive.EarlyLarge},
		{&early.Write.Small, "write", gaugeCount / 2, drive.EarlySmall},
		{&early.Write.Large, "write", gaugeCount / 2, drive.EarlyLarge},
	} {
		if *g.to, err = r.gauge(ctx, g.op, g.count, g.size, modules); err != nil {
			return early, err
		}
	}
	return early, nil
}

// gauge is what the guest adds to reads or writes of that many bytes.
func (r *rig) gauge(ctx context.Context, op string, count, size int, modules []string) (time.Duration, error) {
	args := append([]string{agent, "gauge", driveSerial(0), op, fmt.Sprint(count), fmt.Sprint(size)}, modules...)
	res, err := r.guest.Run(ctx, guest.Command{Line: strings.Join(args, " ")})
	if err == nil {
		err = res.Err()
	}
	if err != nil {
		return 0, r.explain(ctx, err)
	}
	var took []time.Duration
	if err := json.Unmarshal(res.Stdout, &took); err != nil {
		return 0, fmt.Errorf("read the guest's times: %w", err)
	}
	return added(took, gaugeService)
}

// added gives what the guest adds to a service, as the mean without the tenth
// of requests that took longest and the tenth that took shortest: once in a while
// a host does something else for many milliseconds.
func added(took []time.Duration, service time.Duration) (time.Duration, error) {
	if len(took) < 10 {
		return 0, fmt.Errorf("the guest timed %d requests, too few", len(took))
	}
	took = slices.Sorted(slices.Values(took))
	cut := len(took) / 10
	took = took[cut : len(took)-cut]
	var sum time.Duration
	for _, t := range took {
		sum += t
	}
	early := sum/time.Duration(len(took)) - service
	switch {
	case early < 0:
		return 0, fmt.Errorf("requests of %v took %v less by the guest's clock", service, -early)
	case early > service/2:
		return 0, &fault.Error{Kind: fault.Machinery, Reason: "guest-slow",
			Err:  fmt.Errorf("the guest adds %v to a request of %v", early, service),
			Hint: "the host is too busy to measure on, or too slow"}
	}
	return early, nil
}

// gauged gives what a run's drives were found to need when it began.
func gauged(m record.Manifest) map[string]drive.Early {
	early := map[string]drive.Early{}
	for _, d := range m.Drives {
		e := d.Early
		early[d.Name] = drive.Early{
			Read:  drive.Lead{Small: seconds(e.ReadSeconds), Large: seconds(e.ReadLargeSeconds)},
			Write: drive.Lead{Small: seconds(e.WriteSeconds), Large: seconds(e.WriteLargeSeconds)},
		}
	}
	return early
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
