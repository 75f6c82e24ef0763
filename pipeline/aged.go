package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"spindle/internal/fault"
	"spindle/internal/proc"
	"spindle/internal/store"
	"spindle/pipeline/drive"
	"spindle/reports/record"
	"spindle/workloads"
)

// Names of the files of an aged drive in the store, beside what the guest kept of
// its making (age.json has every round).
const (
	agedDrive = "drive%d.img"
	agedMkfs  = "mkfs.txt"
)

// aged gives the directory with the cell's drives on which there is an aged file
// system already. It is made in a guest of its own, once: whatever goes into it
// names it in the store, and the arms have no part in that but for their mkfs
// options. The drives have no timing then.
//
// The plan's seed decides on the files, so all blocks start from the same ones,
// too.
func (k *Kit) aged(ctx context.Context, env Env, p *Plan, cell record.Cell) (string, error) {
	key, err := k.agedKey(p, cell)
	if err != nil {
		return "", err
	}
	return env.Store.Make(ctx, key, func(ctx context.Context, dir string) error {
		env.Log.Status(0, 0, 0, "making an aged %s for %s", cell.Condition.Filesystem, cell.Condition.Workload)
		defer env.Log.Clear()
		if err := k.age(ctx, env, p, cell, dir); err != nil {
			return fmt.Errorf("age %s for workload %s: %w", cell.Condition.Filesystem, cell.Condition.Workload, err)
		}
		return nil
	})
}

func (k *Kit) agedKey(p *Plan, cell record.Cell) (store.Key, error) {
	w, _ := p.Workload(cell.Condition.Workload)
	age, err := json.Marshal(w.Aged)
	if err != nil {
		return store.Key{}, err
	}
	members := p.Drives[cell.Condition.Drive].Members()
	d, err := members[0].Device()
	if err != nil {
		return store.Key{}, err
	}
	base := &p.Arms[0]
	return store.NewKey("aged").
		Field("kernel", k.Kernels[base.Kernel].Hash).Field("image", k.Image.Hash).Field("guest", k.Guest).
		Field("memory", p.memory(base).String()).Field("cpus", strconv.Itoa(p.cpus(base))).
		Field("drives", strconv.Itoa(len(members))).Field("size", d.Size.String()).Field("bus", string(d.Bus)).
		Field("filesystem", cell.Condition.Filesystem).
		Field("mkfs", strings.Join(p.mkfsOptions(cell.Condition.Filesystem, p.Arm(cell.Arm)), "\x00")).
		Field("mount", strings.Join(p.Mount[cell.Condition.Filesystem], "\x00")).
		Field("age", string(age)).Field("seed", strconv.FormatUint(p.Seed, 10)).Sum()
}

// age boots a guest and leaves its drives in dir.
func (k *Kit) age(ctx context.Context, env Env, p *Plan, cell record.Cell, dir string) error {
	logs, remove, err := proc.TempDir(ctx, env.Temp, "age")
	if err != nil {
		return err
	}
	defer remove()
	q := *p
	w, _ := p.Workload(cell.Condition.Workload)
	q.Workloads = []workloads.Spec{{Name: w.Slug(), Age: w.Aged}}
	// The baseline in all, but for what the arm asks of mkfs.
	base := p.Arms[0]
	base.Mkfs = p.Arm(cell.Arm).Mkfs
	base.Trace, base.Cgroup = nil, nil
	q.Arms = Arms{base}
	cell.Arm = base.Name

	r := rig{keep: dir}
	defer r.Close()
	if err := r.bringUp(ctx, env, k, &q, 0, cell, logs); err != nil {
		return err
	}
	j, err := r.begin(ctx, k, &q, cell)
	if err != nil {
		return r.explain(ctx, err)
	}
	if j.ready {
		if _, err := io.WriteString(j.session.Stdin, "go\n"); err != nil {
			return r.explain(ctx, err)
		}
		if _, err := j.hear("done"); err != nil {
			return r.explain(ctx, err)
		}
	}
	if err := j.collect(ctx, logs); err != nil {
		return r.explain(ctx, err)
	}
	var s record.Sample
	if err := readResult(filepath.Join(logs, workloads.ResultFile), &s); err != nil {
		return err
	}
	if s.Outcome.Kind != record.OK {
		return fault.New(fault.Kernel, s.Outcome.Reason, errors.New(s.Outcome.Detail))
	}
	if err := errors.Join(r.drives.Err(), r.machine.Stop(ctx)); err != nil {
		return err
	}
	rounds, err := os.ReadFile(filepath.Join(logs, workloads.AgeFile))
	if err != nil {
		return err
	}
	made := fmt.Sprintf("%s, then %s", s.Mkfs, w.Aged.Describe())
	return errors.Join(
		os.WriteFile(filepath.Join(dir, workloads.AgeFile), rounds, 0o644),
		os.WriteFile(filepath.Join(dir, agedMkfs), []byte(made+"\n"), 0o644),
	)
}

// madeBefore says how an aged file system was made.
func madeBefore(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, agedMkfs))
	return strings.TrimSpace(string(text)), err
}

// copyAged puts a copy of an aged drive where a sample's drive has its content.
// Where the host's file system can, they share what neither changes.
func copyAged(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = unix.IoctlFileClone(int(out.Fd()), int(in.Fd()))
	if err != nil {
		err = copyData(out, in)
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("copy aged drive: %w", err)
	}
	return nil
}

// copyData copies what is no hole.
func copyData(out, in *os.File) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := out.Truncate(info.Size()); err != nil {
		return err
	}
	for at := int64(0); at < info.Size(); {
		from, err := unix.Seek(int(in.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil // holes up to the end
		}
		if err != nil {
			return err
		}
		to, err := unix.Seek(int(in.Fd()), from, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.NewOffsetWriter(out, from), io.NewSectionReader(in, from, to-from)); err != nil {
			return err
		}
		at = to
	}
	return nil
}

// agingLimit is how much longer the first sample on an aged file system may
// take, which has it made.
func (p *Plan) agingLimit(c record.Condition) time.Duration {
	w, _ := p.Workload(c.Workload)
	if w.Aged == nil {
		return 0
	}
	return p.SampleLimit(c) + 2*p.Machine.BootLimit.Std()
}

// backings gives where the content of a cell's drives is: new files below dir, or
// copies of aged ones.
func (r *rig) backings(ctx context.Context, env Env, k *Kit, p *Plan, cell record.Cell, members []drive.Spec, dir string) ([]string, error) {
	w, _ := p.Workload(cell.Condition.Workload)
	into := dir
	if r.keep != "" {
		into = r.keep
	}
	var from string
	if w.Aged != nil {
		var err error
		if from, err = k.aged(ctx, env, p, cell); err != nil {
			return nil, err
		}
		if r.made, err = madeBefore(from); err != nil {
			return nil, err
		}
	}
	var paths []string
	for i := range members {
		name := fmt.Sprintf(agedDrive, i)
		path := filepath.Join(into, name)
		if from != "" {
			if err := copyAged(filepath.Join(from, name), path); err != nil {
				return nil, err
			}
		}
		paths = append(paths, path)
	}
	return paths, nil
}
