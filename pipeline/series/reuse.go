package series

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"spindle/pipeline"
	"spindle/reports"
	"spindle/reports/record"
)

// leastFresh is how many samples of the baseline a condition measures itself,
// whatever an earlier run has: fewer have no spread to compare by. In virtual
// time one does, since a sample comes out the same again or it does not.
const leastFresh = 3

// borrowed begins the warning of every sample that was taken over, and so tells
// which were.
const borrowed = "baseline taken over from an earlier run: "

// oldRun opens the run that samples are to be taken from: a run directory, or a
// series' with one in it.
func oldRun(dir string) (*record.Run, error) {
	if _, err := os.Stat(filepath.Join(dir, stateFile)); err == nil {
		dir = RunDir(dir)
	}
	r, err := record.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	return r, nil
}

// take puts samples of the base from an earlier run into the new run r, where
// nothing that matters differs. They go to every second block, so that fresh
// ones are measured in between, for [agree] to compare them with. What keeps
// samples out is noted; it is no error.
func take(env pipeline.Env, r *record.Run, p *pipeline.Plan, reuse *reports.Reuse) {
	note := func(format string, args ...any) {
		s := fmt.Sprintf(format, args...)
		reuse.Notes = append(reuse.Notes, s)
		env.Log.Printf("baseline: %s", s)
	}
	old, err := oldRun(reuse.From)
	if err != nil {
		note("%v", err)
		return
	}
	arm, why := alike(old.Manifest(), r.Manifest(), p)
	reuse.Arm = arm
	if len(why) > 0 {
		note("nothing taken over: %s", strings.Join(why, "; "))
		return
	}
	if r.Manifest().Auto != nil {
		note("nothing taken over: a plan with repeat: auto looks at its own samples")
		return
	}
	samples, err := usable(old, arm)
	if err != nil {
		note("nothing taken over: %v", err)
		return
	}
	m := r.Manifest()
	blocks := places(len(m.Blocks), p.Virtual())
	if len(blocks) == 0 {
		note("nothing taken over: of %d blocks each must be measured anew, since %d fresh samples are the fewest to compare old ones with: repeat: %d leaves room", len(m.Blocks), leastFresh, leastFresh+2)
		return
	}
	for _, c := range m.Conditions {
		have := samples[c]
		for _, b := range blocks {
			i := 0
			if p.Virtual() { // a block has its seeds: only its own sample is the same again
				i = slices.IndexFunc(have, func(s record.Sample) bool { return s.Block == b })
			}
			if i < 0 || i >= len(have) {
				continue
			}
			s := have[i]
			have = slices.Delete(have, i, i+1)
			if err := adopt(old, arm, r, b, record.Cell{Arm: m.Arms[0].Name, Condition: c}, s, reuse.From); err != nil {
				note("block %d, %v: %v", b, c, err)
				continue
			}
			reuse.Taken++
		}
	}
	reuse.Kept = reuse.Taken
	env.Log.Printf("baseline: %d samples taken over from %s; fresh ones in between are compared with them", reuse.Taken, reuse.From)
}

// places gives the blocks whose baseline is taken over: every second one, and in
// virtual time all but the first.
func places(blocks int, virtual bool) []int {
	var out []int
	fresh := max(leastFresh, (blocks+1)/2)
	for b := 2; b <= blocks; b++ {
		switch {
		case virtual:
			out = append(out, b)
		case b%2 == 0 && len(out) < blocks-fresh:
			out = append(out, b)
		}
	}
	return out
}

// usable gives the samples of an arm that may be taken over, by condition: those
// that ran to their end, whose files are whole, and that were measured by the
// run they are in.
func usable(old *record.Run, arm string) (map[record.Condition][]record.Sample, error) {
	all, err := old.Samples()
	if err != nil {
		return nil, err
	}
	out := map[record.Condition][]record.Sample{}
	for _, s := range all {
		if s.Arm != arm || s.Outcome.Kind != record.OK || isBorrowed(s) {
			continue
		}
		if err := old.Intact(s); err != nil {
			return nil, err
		}
		out[s.Condition] = append(out[s.Condition], s)
	}
	if len(out) == 0 {
		return nil, errors.New("it has no sample of the base that ran to its end")
	}
	return out, nil
}

func isBorrowed(s record.Sample) bool {
	return slices.ContainsFunc(s.Warnings, func(w string) bool { return strings.HasPrefix(w, borrowed) })
}

// adopt copies one sample with its files.
func adopt(old *record.Run, arm string, r *record.Run, block int, cell record.Cell, s record.Sample, from string) error {
	d, err := r.Begin(block, cell, 1)
	if err != nil {
		return err
	}
	src := old.SampleDir(s.Block, record.Cell{Arm: arm, Condition: s.Condition})
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		if err := copyFile(filepath.Join(d.Dir(), name), filepath.Join(src, name)); err != nil {
			return errors.Join(fmt.Errorf("copy %s: %w", name, err), d.Abandon("copying it failed"))
		}
	}
	s.Warnings = append(slices.Clone(s.Warnings), fmt.Sprintf("%s%s, measured %s", borrowed, filepath.Base(from), s.Started.UTC().Format("2006-01-02 15:04 MST")))
	if err := d.Commit(s); err != nil {
		return errors.Join(err, d.Abandon(err.Error()))
	}
	return nil
}

func copyFile(to, from string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// alike finds the arm of an earlier run that is the base of this one, and says
// what differs that would make its samples others: the host, the accelerator,
// what was booted, the drives, what was run and how.
func alike(old, now record.Manifest, p *pipeline.Plan) (arm string, why []string) {
	differ := func(what string, was, is any) {
		if !reflect.DeepEqual(was, is) {
			a, b := fmt.Sprint(was), fmt.Sprint(is)
			if len(a)+len(b) > 120 {
				why = append(why, what+" differs")
				return
			}
			why = append(why, fmt.Sprintf("%s was %s and is %s", what, a, b))
		}
	}
	virtual := p.Virtual()
	if !virtual { // in virtual time the host does not show
		differ("the host", hostOf(old), hostOf(now))
		differ("QEMU", old.Machine.QEMU, now.Machine.QEMU)
	} else {
		differ("the seed", old.Seed, now.Seed)
	}
	differ("the accelerator", old.Machine.Accel, now.Machine.Accel)
	differ("the cost of computing", old.Machine.AccelWhy, now.Machine.AccelWhy)
	differ("memory", old.Machine.MemoryBytes, now.Machine.MemoryBytes)
	differ("CPUs", old.Machine.CPUs, now.Machine.CPUs)
	differ("the CPU model", old.Machine.CPUModel, now.Machine.CPUModel)
	differ("the image", old.Image.Hash, now.Image.Hash)
	differ("the program in the guest", old.Image.GuestHash, now.Image.GuestHash)
	differ("the drives", drivesOf(old), drivesOf(now))
	differ("the file systems", old.Filesystems, now.Filesystems)
	differ("the workloads", old.Workloads, now.Workloads)
	differ("the conditions", old.Conditions, now.Conditions)
	before, err := pipeline.Load(old.Plan.Path, []byte(old.Plan.Text))
	if err != nil {
		return "", append(why, "its plan cannot be read by this spindle")
	}
	differ("the workloads' details", before.Workloads, p.Workloads)
	hash := map[string]string{}
	for _, k := range old.Kernels {
		hash[k.Name] = k.Hash
	}
	want := kernelHash(now, now.Arms[0].Kernel)
	base := p.Arms[0]
	var hashes []string
	for _, a := range before.Arms {
		name, kernel := a.Name, hash[a.Kernel]
		hashes = append(hashes, fmt.Sprintf("%.12s", kernel))
		a.Name, a.Kernel = base.Name, base.Kernel
		if kernel == want && reflect.DeepEqual(a, base) {
			return name, why
		}
	}
	return "", append(why, fmt.Sprintf("no arm of it has the base's kernel %.12s and settings (kernels: %s)", want, strings.Join(hashes, ", ")))
}

// hostOf is the host as far as it shows in samples.
func hostOf(m record.Manifest) string {
	h := m.Machine.Host
	return fmt.Sprintf("%s, %d CPUs, %d MiB, Linux %s", h.CPU, h.CPUs, h.MemoryBytes>>20, h.Kernel)
}

// drivesOf gives the drives without what is gauged anew in every run.
func drivesOf(m record.Manifest) []record.Drive {
	out := slices.Clone(m.Drives)
	for i := range out {
		out[i].Early = record.Early{}
	}
	return out
}

func kernelHash(m record.Manifest, name string) string {
	for _, k := range m.Kernels {
		if k.Name == name {
			return k.Hash
		}
	}
	return ""
}
