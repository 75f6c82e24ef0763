package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"spindle/internal/fault"
	"spindle/internal/store"
	"spindle/pipeline"
	"spindle/reports"
	"spindle/reports/record"
)

func run(ctx context.Context, a *app, args []string) error {
	f := a.flags("run")
	out := f.String("o", "", "`directory` of the run (default runs/NAME-DATE-TIME)")
	resume := f.String("resume", "", "go on with the interrupted run in `DIR`")
	gate := f.Bool("gate", false, "exit 1 if a verdict is worse or broken")
	twice := f.Bool("check-determinism", false, "make every sample twice and fail where the two differ (virtual time)")
	aa := f.Bool("aa", false, "run the baseline once more beside the arms, in virtual time a second build of it: where it differs from itself, nothing is claimed")
	f.StringVar(&a.scale, "scale", "", "`share` of the plan's memory, files and caches instead of its own, such as 1/8")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if *resume != "" {
		if len(rest) > 0 || *out != "" || *aa || a.scale != "" {
			return f.wrong("--resume takes its plan and its place from the run directory")
		}
		return a.resume(ctx, *resume, *gate)
	}
	if len(rest) != 1 {
		return f.wrong("wants one plan file")
	}
	p, err := a.planAt(rest[0])
	if err != nil {
		return err
	}
	if *twice && !p.Virtual() {
		return f.wrong("--check-determinism is for plans with machine: {time: virtual}")
	}
	if *aa {
		if err := p.AddControl(); err != nil {
			return err
		}
	}
	return a.measure(ctx, p, *out, *gate, *twice)
}

// loadPlan reads the plan at path, or the embedded plan of that name where no
// such file is.
func (a *app) loadPlan(path string) (*pipeline.Plan, error) {
	text, err := readPlan(path)
	if errors.Is(err, os.ErrNotExist) {
		if text, ok := pipeline.Embedded(path); ok {
			return pipeline.Load(path+".yaml", a.scaled(text))
		}
	}
	if err != nil {
		return nil, &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("read plan: %w", err),
			Hint: "besides files, these plans are built in: " + strings.Join(pipeline.EmbeddedNames(), ", ")}
	}
	return pipeline.Load(path, a.scaled(text))
}

// scaled gives a plan's text with the scale of the command line. A run's record
// has this text, so that it is done again as it was.
func (a *app) scaled(text []byte) []byte {
	if a.scale == "" {
		return text
	}
	return pipeline.WithScale(text, a.scale)
}

// maxPlan is far beyond any plan; what is larger is something else.
const maxPlan = 4 << 20

// readPlan reads a plan's file: a regular one, or what comes in by /dev/stdin.
func readPlan(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && path != "/dev/stdin" {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxPlan+1))
	if err == nil && len(text) > maxPlan {
		err = fmt.Errorf("%s: larger than %d MiB, which no plan is", path, maxPlan>>20)
	}
	return text, err
}

// env gives the pipeline what it may take from this host.
func (a *app) env() (pipeline.Env, error) {
	cache, err := a.cacheDir()
	if err != nil {
		return pipeline.Env{}, err
	}
	st, err := store.Open(filepath.Join(cache, "store"))
	if err != nil {
		return pipeline.Env{}, err
	}
	return pipeline.NewEnv(st, cache, a.log, a.now, a.getenv("HOME"), versionString(), a.command), nil
}

// measure runs a plan into a new run directory and reports it.
func (a *app) measure(ctx context.Context, p *pipeline.Plan, dir string, gate, twice bool) error {
	env, err := a.env()
	if err != nil {
		return err
	}
	env.Twice = twice
	if dir == "" {
		dir = filepath.Join("runs", p.Name+"-"+a.now().Format("20060102-150405"))
	}
	err = pipeline.Run(ctx, env, p, dir)
	if err == nil && twice {
		a.log.Printf("each sample was made twice: the same metrics, and the same requests at the same times")
	}
	return a.finish(dir, gate, err)
}

func (a *app) resume(ctx context.Context, dir string, gate bool) error {
	r, err := record.Open(dir)
	if err != nil {
		return err
	}
	if done, err := r.Samples(); err != nil {
		return fmt.Errorf("resume %s: %w", dir, err)
	} else if len(done) == r.Planned() {
		a.log.Printf("all %d samples are done: nothing is left to do", len(done))
		return a.finish(dir, gate, nil)
	}
	env, err := a.env()
	if err != nil {
		return err
	}
	err = pipeline.Resume(ctx, env, dir)
	return a.finish(dir, gate, err)
}

// finish writes the report of what was measured, also after an interrupt: a
// partial report says that it is one.
func (a *app) finish(dir string, gate bool, err error) error {
	var stopped pipeline.Stopped
	if err != nil && !errors.As(err, &stopped) {
		return err
	}
	sum, rerr := reports.Write(dir)
	if rerr != nil {
		return errors.Join(err, rerr)
	}
	a.log.Clear()
	for _, w := range sum.Warnings {
		a.log.Printf("warning: %s", w)
	}
	fmt.Fprintln(a.stdout, filepath.Join(dir, "report.md"))
	if err != nil {
		a.log.Printf("to go on: spindle run --resume %s", dir)
		return err
	}
	if len(sum.PlanMistakes) > 0 {
		return fault.Planf("plan: %s", strings.Join(sum.PlanMistakes, "; "))
	}
	if gate && sum.Failed() {
		return fault.Kernelf("gate: %s", sum.Line())
	}
	return nil
}
