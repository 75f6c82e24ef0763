package bisect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"spindle/internal/fault"
	"spindle/kernels"
	"spindle/pipeline"
	"spindle/reports/record"
)

// Options say what is bisected.
type Options struct {
	Plan      *pipeline.Plan // see [pipeline.Plan.CheckBisect]
	Good, Bad string         // as git rev-parse takes them
	Paths     []string       // of files that the culprit touches; nil is all
	Metric    string         // by name; "" is the workload's first
	Condition string         // words that pick it; "" where there is one
	Dir       string         // of the bisection, new
}

// Stopped is the error of a bisection that ended before it had an answer, with
// all that is known safe on disk. It wraps the cause.
type Stopped struct {
	Dir string
	Err error
}

func (s Stopped) Error() string { return fmt.Sprintf("stopped: %v", s.Err) }

func (s Stopped) Unwrap() error { return s.Err }

// target is a bisection made ready: the parts of Options looked at.
type target struct {
	plan   *pipeline.Plan
	kernel string // of the plan
	cell   record.Cell
	repo   repo
	start  Start
}

// aim looks at the options before anything is made.
func aim(ctx context.Context, env pipeline.Env, o Options) (target, error) {
	t := target{plan: o.Plan}
	var err error
	if t.kernel, err = o.Plan.CheckBisect(); err != nil {
		return t, err
	}
	if t.cell, err = o.Plan.PickOne(o.Condition); err != nil {
		return t, err
	}
	metric, err := o.Plan.MetricOf(t.cell.Condition, o.Metric)
	if err != nil {
		return t, err
	}
	dir, err := filepath.Abs(o.Plan.Local(env, t.kernel).Git) // the log is read elsewhere
	if err != nil {
		return t, err
	}
	if t.repo, err = openRepo(ctx, dir); err != nil {
		return t, err
	}
	t.start = Start{
		Spindle: env.Version, Command: env.Command, Repo: t.repo.dir, GoodRev: o.Good, BadRev: o.Bad, Paths: o.Paths,
		Metric: metric, Condition: t.cell.Condition, Arm: t.cell.Arm, Virtual: o.Plan.Virtual(),
	}
	if t.start.Good, err = t.repo.commit(ctx, "--good", o.Good); err != nil {
		return t, err
	}
	t.start.Bad, err = t.repo.commit(ctx, "--bad", o.Bad)
	return t, err
}

// Bisect carries out a bisection in a new directory. An error of type [Stopped]
// says that it can go on.
func Bisect(ctx context.Context, env pipeline.Env, o Options) error {
	t, err := aim(ctx, env, o)
	if err != nil {
		return err
	}
	h, err := t.repo.readHistory(ctx, t.start.Good, t.start.Bad, o.Paths)
	if err != nil {
		return err
	}
	if err := vacant(o.Dir); err != nil {
		return err
	}
	env.Log.Printf("%d commits between %s and %s; %s of %v", len(h.Commits)-1, o.Good, o.Bad, t.start.Metric.Name, t.cell.Condition)
	return t.onBench(ctx, env, nil, func(ctx context.Context, b *pipeline.Bench) error {
		t.start.Manifest = new(record.Manifest)
		*t.start.Manifest = b.Manifest()
		log, err := CreateLog(o.Dir, env.Now, t.start)
		if err != nil {
			return err
		}
		defer log.Close()
		if err := os.WriteFile(log.path("plan.yaml"), []byte(o.Plan.Text), 0o644); err != nil {
			return fmt.Errorf("write plan: %w", err)
		}
		return t.carry(ctx, env, b, log, newState(t.start, env.Now()), h)
	})
}

// Resume goes on with a bisection that was stopped. One whose image, host or
// accelerator would not be the same again is refused.
func Resume(ctx context.Context, env pipeline.Env, dir string) error {
	log, state, err := OpenLog(dir, env.Now)
	if err != nil {
		return err
	}
	defer log.Close()
	if state.End != nil {
		env.Log.Printf("the bisection has come to its end: nothing is left to do")
		return nil
	}
	t, err := state.again(env)
	if err != nil {
		return fmt.Errorf("resume %s: %w", dir, err)
	}
	h, err := t.repo.readHistory(ctx, t.start.Good, t.start.Bad, t.start.Paths)
	if err != nil {
		return fmt.Errorf("resume %s: %w", dir, err)
	}
	return t.onBench(ctx, env, t.start.Manifest, func(ctx context.Context, b *pipeline.Bench) error {
		return t.carry(ctx, env, b, log, state, h)
	})
}

// again makes the target of a bisection from its log.
func (s *State) again(env pipeline.Env) (target, error) {
	m := s.Start.Manifest
	p, err := pipeline.Load(m.Plan.Path, []byte(m.Plan.Text))
	if err != nil {
		return target{}, fmt.Errorf("read its plan: %w", err)
	}
	t := target{plan: p, repo: repo{s.Start.Repo}, start: s.Start, cell: record.Cell{Arm: s.Start.Arm, Condition: s.Start.Condition}}
	t.kernel, err = p.CheckBisect()
	return t, err
}

// onBench holds the host, with the good end as the plan's one kernel. What else
// the plan has is not made: other kernels, and drives that the condition is not
// about.
func (t target) onBench(ctx context.Context, env pipeline.Env, was *record.Manifest, f func(context.Context, *pipeline.Bench) error) error {
	k := t.plan.Kernels[t.kernel]
	k.Rev = t.start.Good
	t.plan.Kernels = map[string]kernels.Source{t.kernel: k}
	t.plan.Conditions.Drive = []string{t.cell.Condition.Drive}
	return pipeline.OnBench(ctx, env, t.plan, t.cell, was, f)
}

func (t target) carry(ctx context.Context, env pipeline.Env, b *pipeline.Bench, log *Log, state *State, h *History) error {
	lab, err := t.lab(env, b)
	if err != nil {
		return err
	}
	f := &Finder{lab: lab, log: log, state: state, history: h, repo: t.repo, talk: env.Log, from: state.lastBlock() + 1}
	if err := f.run(ctx); err != nil {
		return Stopped{log.dir, err}
	}
	return nil
}

// vacant refuses a directory with something in it before kernels are built.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("bisect into %s: directory is not empty (%s)", dir, entries[0].Name()),
		Hint: "give the bisection a directory of its own; spindle bisect --resume DIR goes on with one"}
}

// lab is this host as the finder sees it.
func (t target) lab(env pipeline.Env, b *pipeline.Bench) (Lab, error) {
	there, err := t.builtBefore(env)
	if err != nil {
		return Lab{}, err
	}
	h := &host{target: t, bench: b, made: map[string]kernels.Artifact{}}
	return Lab{
		Virtual: t.start.Virtual,
		Built:   func(commit string) bool { return there[commit] },
		Build:   h.build,
		Sample:  h.sample,
		Kept: func(dir string) (Result, bool) {
			s, err := record.Kept(dir)
			if err != nil {
				return Result{}, false
			}
			r, err := t.result(s)
			return r, err == nil
		},
	}, nil
}

// builtBefore gives the commits whose kernels are in the store, built as the
// plan says.
func (t target) builtBefore(env pipeline.Env) (map[string]bool, error) {
	all, err := kernels.List(env.Store)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	var like *kernels.Build
	for _, a := range all {
		if a.Build != nil && a.Build.Base == t.start.Good && len(a.Build.Patches) == 0 && a.Hash == t.goodHash() {
			like = a.Build
		}
	}
	for _, a := range all {
		if b := a.Build; like != nil && b != nil && len(b.Patches) == 0 && b.Arch == like.Arch && b.Compiler == like.Compiler && slices.Equal(b.Parts, like.Parts) {
			there[b.Base] = true
		}
	}
	return there, nil
}

// goodHash gives the hash of the good end's kernel.
func (t target) goodHash() string {
	for _, k := range t.start.Manifest.Kernels {
		if k.Name == t.kernel {
			return k.Hash
		}
	}
	return ""
}

// host makes kernels and samples on a bench. Builds may go on beside samples.
type host struct {
	target
	bench *pipeline.Bench

	mu   sync.Mutex
	made map[string]kernels.Artifact // by directory
}

func (h *host) build(ctx context.Context, commit, patch string) (Kernel, error) {
	s := h.plan.Kernels[h.kernel]
	s.Rev = commit
	name := short(commit)
	if patch != "" {
		abs, err := filepath.Abs(patch)
		if err != nil {
			return Kernel{}, err
		}
		s.Series, name = abs, name+" with the revert"
	}
	a, err := h.bench.Make(ctx, s, name)
	if err != nil {
		return Kernel{}, err
	}
	alike, err := a.Alike()
	if err != nil {
		return Kernel{}, err
	}
	h.mu.Lock()
	h.made[a.Dir] = a
	h.mu.Unlock()
	return Kernel{Hash: a.Hash, Alike: alike, Artifact: a.Dir}, nil
}

func (h *host) sample(ctx context.Context, k Kernel, block int, dir string) (Result, error) {
	h.mu.Lock()
	a, ok := h.made[k.Artifact]
	h.mu.Unlock()
	if !ok {
		var err error
		if a, err = kernels.Open(k.Artifact); err != nil {
			return Result{}, err
		}
	}
	s, err := h.bench.Sample(ctx, a, block, dir)
	if err != nil {
		return Result{}, err
	}
	return h.result(s)
}

// result takes the metric out of a sample.
func (t target) result(s record.Sample) (Result, error) {
	r := Result{Outcome: s.Outcome, Seconds: s.TotalSeconds}
	if s.Outcome.Kind != record.OK {
		return r, nil
	}
	for _, m := range s.Metrics {
		if m.Name == t.start.Metric.Name {
			r.Value = m.Value
			return r, nil
		}
	}
	return r, fault.Planf("metric %s: the sample does not have it", t.start.Metric.Name)
}
