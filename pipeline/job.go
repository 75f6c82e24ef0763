package pipeline

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"

	"spindle/internal/unit"
	"spindle/kernels"
	"spindle/pipeline/guest"
	"spindle/pipeline/machine"
	"spindle/reports/record"
	"spindle/workloads"
	"spindle/workloads/mdraid"
)

// Where a job lies in the guest.
const (
	jobFile = workloads.GuestDir + "/job.json"
	jobDir  = workloads.GuestDir + "/out"
	agent   = workloads.GuestDir + "/" + workloads.AgentFile
)

// job is a cell's work under way in a guest.
//
// The guest says "ready" when mkfs, mount and settings are done, waits for
// "go", and says "done" when the timed part is over. In between, and only
// then, the drive takes the time that the modelled drive would: making a file
// system at a disk's pace would cost minutes and measure nothing.
//
// A guest that says nothing more has ended its job early and left a result
// that says why.
type job struct {
	rig     *rig
	session *guest.Session
	out     *bufio.Reader
	ready   bool
	setup   time.Duration
}

// jobOf says in the guest's words what the cell asks for.
func jobOf(k *Kit, p *Plan, cell record.Cell) (workloads.Job, error) {
	arm, c := p.Arm(cell.Arm), cell.Condition
	w, ok := p.Workload(c.Workload)
	if arm == nil || !ok {
		return workloads.Job{}, fmt.Errorf("find cell %v, %s: not in the plan", c, cell.Arm)
	}
	d, err := p.Drives[c.Drive].Device()
	if err != nil {
		return workloads.Job{}, err
	}
	j := workloads.Job{
		Drive:        driveSerial(0),
		Modules:      kernels.ModulesFor(p.need(c)),
		Filesystem:   c.Filesystem,
		MkfsOptions:  p.mkfsOptions(c.Filesystem, arm),
		MountOptions: p.MountOptions(c.Filesystem, arm),
		Scheduler:    c.Scheduler,
		Queue:        maps.Clone(arm.Queue),
		Sysctl:       maps.Clone(arm.Sysctl),
		Set:          arm.settings(),
		Packages:     k.Image.Packages,
		Workload:     w,
		SampleEvery:  unit.Duration(time.Second),
		Limit:        unit.Duration(p.SampleLimit(c)),
		Dir:          jobDir,
	}
	j.Packages = j.UsedPackages()
	spec := p.Drives[c.Drive]
	if spec.MD != nil {
		md := spec.MD.Filled()
		j.MD = &mdraid.Spec{Level: md.Level, Chunk: md.Chunk}
		for i := range spec.Members() {
			j.MD.Members = append(j.MD.Members, driveSerial(i))
		}
	}
	if d.QueueDepth > 0 && machine.DepthSetInGuest(d.Bus, d.QueueDepth) {
		j.Device = map[string]string{"queue_depth": strconv.Itoa(d.QueueDepth)}
	}
	if !spec.OfHost() && machine.CacheSetInGuest(d.Bus, d.WriteCache) && j.Queue["write_cache"] == "" {
		if j.Queue == nil {
			j.Queue = map[string]string{}
		}
		j.Queue["write_cache"] = "write through"
	}
	return j, nil
}

// begin hands the job to the guest and waits until all is set up.
func (r *rig) begin(ctx context.Context, k *Kit, p *Plan, cell record.Cell) (*job, error) {
	began := time.Now()
	w, err := jobOf(k, p, cell)
	if err != nil {
		return nil, err
	}
	w.Seed, w.Made, w.Unmount = r.seed, r.made, r.keep != ""
	text, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	if err := r.guest.Write(ctx, jobFile, text); err != nil {
		return nil, err
	}
	j := &job{rig: r}
	if j.session, err = r.guest.Start(ctx, guest.Command{Line: agent + " job " + jobFile}); err != nil {
		return nil, err
	}
	j.out = bufio.NewReader(j.session.Stdout)
	j.ready, err = j.hear("ready")
	j.setup = time.Since(began)
	return j, err
}

// measure lets the timed part run, with the drive's timing on.
func (j *job) measure(s *record.Sample) error {
	if !j.ready {
		return nil
	}
	d := j.rig.drives
	d.Timed(true)
	d.ResetStats()
	began := time.Now()
	if _, err := io.WriteString(j.session.Stdin, "go\n"); err != nil {
		return fmt.Errorf("start workload: %w", err)
	}
	_, err := j.hear("done")
	s.WorkloadSeconds = time.Since(began).Seconds()
	s.Drive = driveStats(d.Stats())
	s.Drive.Faults = d.Faults()
	for _, f := range s.Drive.Faults {
		s.Warnings = append(s.Warnings, "the drive did as the plan says: "+f)
	}
	d.Timed(false)
	return err
}

// hear waits for a word of the guest. It is false, with no error, if the guest
// ended its job instead.
func (j *job) hear(word string) (bool, error) {
	line, err := j.out.ReadString('\n')
	switch {
	case errors.Is(err, io.EOF) && line == "":
		return false, nil
	case err != nil:
		return false, fmt.Errorf("follow job: %w", err)
	case strings.TrimSuffix(line, "\n") != word:
		return false, fmt.Errorf("follow job: the guest said %q, and should have said %q", line, word)
	}
	return true, nil
}

// collect waits for the guest to write its result and brings it to dir with
// the raw logs.
func (j *job) collect(ctx context.Context, dir string) error {
	res, err := j.session.Wait()
	if err == nil {
		err = res.Err()
	}
	if err != nil {
		return fmt.Errorf("end job: %w", err)
	}
	return j.rig.guest.GetDir(ctx, jobDir, dir)
}
