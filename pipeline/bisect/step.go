package bisect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"spindle/internal/fault"
	"spindle/pipeline"
	"spindle/pipeline/bisect/search"
	"spindle/reports/record"
)

// Side is what a step says of a commit, in the numbers of git bisect run.
type Side int

// The sides.
const (
	IsGood Side = 0
	IsBad  Side = 1
	IsSkip Side = 125
)

func (s Side) String() string {
	return map[Side]string{IsGood: "good", IsBad: "bad", IsSkip: "skip"}[s]
}

// stepMost is how many samples of a commit a step takes before it gives up: one
// that lies between the ends would take samples for ever.
const stepMost = 12

// Step says on which side the HEAD of the plan's repository is, for use in git
// bisect run. The ends are measured by the first step into o.Dir, and later ones
// find them there; each goes on with samples of the ends beside those of HEAD.
// why is for the person who waits.
//
// An error means that nothing is known of HEAD: the plan, the ends or our
// machinery failed.
func Step(ctx context.Context, env pipeline.Env, o Options) (side Side, why string, err error) {
	t, err := aim(ctx, env, o)
	if err != nil {
		return 0, "", err
	}
	head, err := t.repo.git(ctx, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return 0, "", fmt.Errorf("read HEAD of %s: %w", t.repo.dir, err)
	}
	if changed, err := t.repo.git(ctx, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules"); err == nil && changed != "" {
		env.Log.Printf("the working tree of %s has changes, which are not measured: only its HEAD is, %s", t.repo.dir, short(head))
	}
	h, err := t.repo.three(ctx, t.start.Good, head, t.start.Bad)
	if err != nil {
		return 0, "", err
	}
	var was *record.Manifest
	var log *Log
	var state *State
	if _, err := os.Stat(filepath.Join(o.Dir, logFile)); err == nil {
		if log, state, err = OpenLog(o.Dir, env.Now); err != nil {
			return 0, "", err
		}
		defer log.Close()
		if err := state.Start.sameAs(t.start); err != nil {
			return 0, "", &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("step in %s: %w", o.Dir, err), Hint: "give these ends a directory of their own with -o"}
		}
		was, t.start = state.Start.Manifest, state.Start
	}
	err = t.onBench(ctx, env, was, func(ctx context.Context, b *pipeline.Bench) error {
		if log == nil {
			m := b.Manifest()
			t.start.Manifest = &m
			var err error
			if log, err = CreateLog(o.Dir, env.Now, t.start); err != nil {
				return err
			}
			defer log.Close()
			state = newState(t.start, env.Now())
		}
		lab, err := t.lab(env, b)
		if err != nil {
			return err
		}
		f := &Finder{lab: lab, log: log, state: state, history: h, repo: t.repo, talk: env.Log, from: state.lastBlock() + 1, most: stepMost}
		side, why, err = f.side(ctx)
		return err
	})
	return side, why, err
}

// three is a history of three commits. Where the change is says on which side
// the one in the middle is.
func (r repo) three(ctx context.Context, good, head, bad string) (*History, error) {
	h := &History{index: map[string]int{}}
	for _, id := range []string{good, head, bad} {
		if h.Index(id) >= 0 {
			continue // HEAD is an end
		}
		if err := r.addOne(ctx, h, id); err != nil {
			return nil, err
		}
	}
	if len(h.Commits) < 2 {
		return nil, fault.Planf("--good and --bad are one commit, %s", short(good))
	}
	return h, nil
}

// sameAs says whether a log is about the same ends, measured in the same way.
func (s Start) sameAs(t Start) error {
	for _, x := range []struct{ what, was, is string }{
		{"the good end", s.Good, t.Good}, {"the bad end", s.Bad, t.Bad}, {"the metric", s.Metric.Name, t.Metric.Name},
		{"the condition", s.Condition.String(), t.Condition.String()}, {"the repository", s.Repo, t.Repo},
	} {
		if x.was != x.is {
			return fmt.Errorf("%s was %s, and is %s", x.what, x.was, x.is)
		}
	}
	return nil
}

// side measures the ends and the commit between them.
func (f *Finder) side(ctx context.Context) (Side, string, error) {
	differ, err := f.ends(ctx)
	if err != nil {
		return 0, "", err
	}
	if !differ {
		return 0, "", &fault.Error{Kind: fault.Kernel, Reason: "ends", Err: fmt.Errorf("the ends cannot be told apart: %s", f.state.Ends(f.history).says()),
			Hint: "choose another metric with --metric, another workload, or other ends"}
	}
	if len(f.history.Commits) == 2 {
		return 0, "", fault.Planf("HEAD is one of the ends")
	}
	if err := f.narrow(ctx); err != nil {
		return 0, "", err
	}
	head := f.history.Commits[1].ID
	if s, ok := f.state.Skips[head]; ok {
		return IsSkip, s.says(), nil
	}
	st := f.search.State()
	if st.Kind == search.Found {
		side := IsGood
		if st.Culprits[0] == 1 {
			side = IsBad
		}
		return side, fmt.Sprintf("probability %.1f %%, %d samples", 100*st.Probability, f.state.count(head)), nil
	}
	return IsSkip, fmt.Sprintf("on neither side after %d samples", f.state.count(head)), nil
}
