package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/reports/record"
	"spindle/workloads"
)

// Shell boots a cell of the plan as its sample would be, up to the moment
// before its workload starts, and gives the person at in and out a terminal in
// it, in the mounted test file system if there is one. The drive takes its
// modelled time while they work. Nothing is recorded.
//
// The status is that of the shell, or 128 and the signal that ended it, as
// shells have it.
func Shell(ctx context.Context, env Env, p *Plan, cell record.Cell, in *os.File, out io.Writer) (status int, err error) {
	if p.Virtual() {
		return 0, fault.Planf("open a shell: a guest in virtual time cannot be spoken to, its clock stands still while somebody types; without machine: {time: virtual}, and with a kernel for a machine, there is one")
	}
	if err := os.MkdirAll(env.Temp, 0o755); err != nil {
		return 0, fmt.Errorf("make temporary directory: %w", err)
	}
	kit, err := Prepare(ctx, env, p)
	if err != nil {
		return 0, err
	}
	dir, remove, err := proc.TempDir(ctx, env.Temp, "shell")
	if err != nil {
		return 0, err
	}
	defer remove()
	env.Log.Status(0, 0, 0, "booting %s, %v", cell.Arm, cell.Condition)
	var r rig
	defer r.Close()
	if err := r.bringUp(ctx, env, kit, p, 1, cell, dir); err != nil {
		return 0, err
	}
	j, err := r.begin(ctx, kit, p, cell)
	if err != nil {
		return 0, r.explain(ctx, err)
	}
	if !j.ready {
		return 0, r.setupError(ctx, j, dir)
	}
	r.drives.Timed(true)
	env.Log.Clear()
	dir = workloads.MountDir
	if cell.Condition.Filesystem == workloads.NoFilesystem {
		dir = ""
	}
	env.Log.Printf("%s", greeting(cell))
	res, err := r.guest.Shell(ctx, in, out, dir)
	switch {
	case err != nil:
		return 0, r.explain(ctx, err)
	case res.Signal != "":
		return 128 + int(unix.SignalNum("SIG"+res.Signal)), nil
	}
	return res.Status, nil
}

// greeting says where the person is.
func greeting(cell record.Cell) string {
	where := cell.Condition.Filesystem + " is mounted on " + workloads.MountDir
	if cell.Condition.Filesystem == workloads.NoFilesystem {
		where = "the drive has no file system, lsblk shows it"
	}
	return fmt.Sprintf("%s, %v: %s; the drive takes its modelled time; leave with exit", cell.Arm, cell.Condition, where)
}

// setupError says why a job ended before its workload could start.
func (r *rig) setupError(ctx context.Context, j *job, dir string) error {
	if err := j.collect(ctx, dir); err != nil {
		return r.explain(ctx, err)
	}
	var s record.Sample
	if err := readResult(filepath.Join(dir, workloads.ResultFile), &s); err != nil {
		return err
	}
	return fault.New(fault.Kernel, s.Outcome.Reason, errors.New(s.Outcome.Detail))
}
