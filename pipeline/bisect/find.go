package bisect

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"spindle/internal/fault"
	"spindle/internal/progress"
	"spindle/pipeline/bisect/search"
	"spindle/reports/record"
)

// Finder carries a bisection on to its end. All it knows is in its State; it
// may be stopped at any time and another made from the log.
type Finder struct {
	lab     Lab
	log     *Log
	state   *State
	history *History
	repo    repo
	talk    *progress.Log
	search  *search.Search // nil until the ends are known
	fed     int            // facts of the state that the search was told
	from    int            // the first block of the search that this process may add to
	most    int            // samples of commit 1 after which the search ends; 0 for no limit
	ahead   *ahead         // nil where nothing is built ahead
}

// phases of samples
const (
	phaseEnds    = "ends"
	phaseSearch  = "search"
	phaseConfirm = "confirm"
)

// run goes on from where the state is. It returns nil at the end of the
// bisection, whatever the answer.
func (f *Finder) run(ctx context.Context) error {
	if f.state.End != nil {
		return nil
	}
	for _, c := range []Commit{f.history.Good(), f.history.Bad()} {
		if s, ok := f.state.Skips[c.ID]; ok {
			return f.stuck(s) // found out before it was resumed
		}
	}
	if f.lab.Virtual {
		f.ahead = newAhead(ctx, f.lab)
		defer f.ahead.close()
	}
	differ, err := f.ends(ctx)
	if err != nil {
		return err
	}
	if differ {
		if err := f.seek(ctx); err != nil {
			return err
		}
	}
	a := f.state.Answer(f.history)
	return f.note(entry{End: &End{Line: a.Line()}})
}

// seek searches and confirms until the answer stands.
func (f *Finder) seek(ctx context.Context) error {
	for round := 1; ; round++ {
		if err := f.narrow(ctx); err != nil {
			return err
		}
		st := f.search.State()
		if len(st.Culprits) != 1 || st.Kind != search.Found && st.Kind != search.TwoChanges {
			return nil
		}
		stands, err := f.confirm(ctx, st.Culprits[0])
		if err != nil {
			return err
		}
		// What the confirmation measured is evidence too. Where that has changed
		// the answer, the search goes on; where it insists, three rounds are
		// enough to say that it is not confirmed.
		if again := f.search.State(); stands || round == confirmRounds || again.Kind != search.Searching {
			return nil
		}
		f.talk.Printf("commit %s was not confirmed; the search goes on", f.short(st.Culprits[0]))
	}
}

const confirmRounds = 3

// narrow takes samples until the search has an answer.
func (f *Finder) narrow(ctx context.Context) error {
	if err := f.feed(); err != nil {
		return err
	}
	for {
		if err := f.collect(); err != nil {
			return err
		}
		block, next := f.next()
		if next.Done || f.most > 0 && f.state.count(f.history.Commits[1].ID) >= f.most {
			return nil
		}
		commit := f.history.Commits[next.Commit]
		f.status(next.Commit)
		if f.ahead != nil {
			f.buildNext(next.Commit, block)
		}
		_, known := f.state.Kernels[commit.ID]
		if _, ok, err := f.kernel(ctx, commit.ID, ""); err != nil {
			return err
		} else if !ok || !known && f.state.twin(commit.ID) != "" {
			continue // what is learned of it may change what is worth a boot
		}
		if _, err := f.sample(ctx, commit.ID, "", block, phaseSearch); err != nil {
			return err
		}
	}
}

// next gives the block and the commit of the next sample. An end stands in each
// block, so that a shift of the host, or what a seed does to all kernels, is
// told from a change of the kernel.
//
// In virtual time a kernel has one value in a block. The blocks are gone
// through until there is a kernel to measure in one.
func (f *Finder) next() (int, search.Choice) {
	if f.lab.Virtual {
		for block := 1; ; block++ {
			c := f.search.Next(block, f.cost)
			if c.Done {
				return block, c
			}
			id := f.history.Commits[c.Commit].ID
			if len(f.state.of(id, block)) > 0 {
				continue
			}
			for _, end := range []int{0, len(f.history.Commits) - 1} {
				if len(f.state.of(f.history.Commits[end].ID, block)) == 0 {
					return block, search.Choice{Commit: end, Why: search.End}
				}
			}
			return block, c
		}
	}
	block := f.state.lastBlock()
	taken, end := f.inBlock(block)
	if taken >= blockSize || block < f.from || f.state.lastPhase() != phaseSearch {
		block, taken, end = block+1, 0, false
	}
	c := f.search.Next(block, f.cost)
	if !c.Done && taken > 0 && !end && c.Why != search.End {
		// The ends take turns.
		last := 0
		if block%2 == 0 {
			last = len(f.history.Commits) - 1
		}
		return block, search.Choice{Commit: last, Why: search.End}
	}
	return block, c
}

// blockSize is how many samples a block of the search has: a commit, an end,
// another commit. More would be further apart in time, fewer would spend more
// on ends.
const blockSize = 3

// inBlock counts the samples of a block, and says whether an end is among them.
func (f *Finder) inBlock(block int) (taken int, end bool) {
	for _, x := range f.state.Samples {
		if x.Block == block {
			taken++
			end = end || x.Commit == f.history.Good().ID || x.Commit == f.history.Bad().ID
		}
	}
	return taken, end
}

// sample takes one sample of a commit, with its kernel made first. It is false
// where the commit cannot be measured, which is noted, or need not be: its
// kernel is one that has this sample already.
func (f *Finder) sample(ctx context.Context, id, patch string, block int, phase string) (bool, error) {
	k, ok, err := f.kernel(ctx, id, patch)
	if err != nil || !ok {
		return false, err
	}
	if f.lab.Virtual && len(f.state.of(id, block)) > 0 {
		return true, nil
	}
	dir := f.place(id, block)
	full := filepath.Join(f.log.dir, dir)
	r, kept := f.lab.Kept(full)
	if !kept {
		if r, err = f.lab.Sample(ctx, k, block, full); err != nil {
			return false, fmt.Errorf("commit %s, block %d: %w", short(id), block, err)
		}
	}
	if r.Outcome.Kind != record.OK {
		return false, f.skip(Skip{Commit: id, Reason: r.Outcome.Reason, Detail: r.Outcome.Detail, Log: dir})
	}
	if !(r.Value > 0) || math.IsInf(r.Value, 0) {
		return false, fault.Planf("metric %s: commit %s gave %g, and only values above zero can be compared by their ratio: choose another with --metric", f.state.Start.Metric.Name, short(id), r.Value)
	}
	return true, f.note(entry{Sample: &Sample{Commit: id, Block: block, Value: r.Value, Dir: dir, Seconds: r.Seconds, Phase: phase}})
}

// place names the directory of the next sample of a commit in a block: the
// first that no entry of the log has.
func (f *Finder) place(id string, block int) string {
	n := 0
	for _, x := range f.state.Samples {
		if x.Commit == id && x.Block == block {
			n++
		}
	}
	name := fmt.Sprintf("b%d", block)
	if n > 0 {
		name += fmt.Sprintf("-%d", n+1)
	}
	return filepath.Join("samples", short(id), name)
}

// kernel gives the kernel of a commit; with a patch, that of the bad end with
// the patch on top. It is false where that cannot be made, or
// is one of which is known that it does not run; both are noted.
func (f *Finder) kernel(ctx context.Context, id, patch string) (Kernel, bool, error) {
	if _, ok := f.state.Skips[id]; ok {
		return Kernel{}, false, nil
	}
	if k, ok := f.state.Kernels[id]; ok {
		if _, err := os.Stat(k.Artifact); k.Artifact == "" || err == nil {
			return k, true, nil
		}
	}
	if f.ahead != nil {
		if b, ok := f.ahead.wait(ctx, id); ok {
			return f.keep(b)
		}
	}
	commit := id
	if patch != "" {
		commit = f.history.Bad().ID
	}
	b := build(ctx, f.lab, id, commit, patch)
	if ctx.Err() != nil {
		return Kernel{}, false, context.Cause(ctx)
	}
	return f.keep(b)
}

// built is a kernel, or why there is none.
type built struct {
	commit string
	kernel Kernel
	err    error
}

// build makes the kernel that goes by id: of that commit, or of another one with
// a patch on top.
func build(ctx context.Context, lab Lab, id, commit, patch string) built {
	began := time.Now()
	k, err := lab.Build(ctx, commit, patch)
	k.Commit = id
	if k.Seconds == 0 {
		k.Seconds = time.Since(began).Seconds()
	}
	return built{id, k, err}
}

// keep notes what came of a build.
func (f *Finder) keep(b built) (Kernel, bool, error) {
	if b.err != nil {
		if fault.Of(b.err) == fault.Machinery {
			return Kernel{}, false, fmt.Errorf("kernel of commit %s: %w", short(b.commit), b.err)
		}
		s := Skip{Commit: b.commit, Reason: fault.Reason(b.err), Detail: b.err.Error()}
		if s.Reason == "" {
			s.Reason = "build"
		}
		file := filepath.Join("builds", short(b.commit)+".log")
		text := b.err.Error() + "\n\n" + fault.Tail(b.err) + "\n"
		if err := os.MkdirAll(filepath.Join(f.log.dir, "builds"), 0o755); err != nil {
			return Kernel{}, false, err
		}
		if err := os.WriteFile(filepath.Join(f.log.dir, file), []byte(text), 0o644); err != nil {
			return Kernel{}, false, fmt.Errorf("write the output of a build: %w", err)
		}
		s.Log = file
		return Kernel{}, false, f.skip(s)
	}
	if was, ok := f.state.Kernels[b.commit]; ok {
		if was.Alike != b.kernel.Alike {
			return Kernel{}, false, fault.Planf("kernel of commit %s: made again it is another one: was a compiler or spindle renewed? begin anew, in another directory", short(b.commit))
		}
		return b.kernel, true, nil
	}
	if err := f.note(entry{Kernel: &b.kernel}); err != nil {
		return Kernel{}, false, err
	}
	twin := f.state.twin(b.commit)
	if twin == "" {
		return b.kernel, true, nil
	}
	if s, broken := f.state.Skips[twin]; broken {
		return Kernel{}, false, f.skip(Skip{Commit: b.commit, Reason: s.Reason, Detail: "the same kernel as " + short(twin) + ": " + s.Detail, Log: s.Log})
	}
	f.talk.Printf("commit %s: the same kernel as %s, whose samples count for both", short(b.commit), short(twin))
	return b.kernel, true, nil
}

// skip notes a commit that cannot be measured. It is no evidence. Without an
// end there is nothing to compare, which is an error.
func (f *Finder) skip(s Skip) error {
	f.talk.Printf("commit %s cannot be measured: %s", short(s.Commit), s.says())
	if err := f.note(entry{Skip: &s}); err != nil {
		return err
	}
	return f.stuck(s)
}

// stuck is the error of a skip of an end; nil for another commit.
func (f *Finder) stuck(s Skip) error {
	for _, end := range []struct{ id, flag string }{{f.history.Good().ID, "good"}, {f.history.Bad().ID, "bad"}} {
		if s.Commit == end.id {
			return &fault.Error{Kind: fault.Kernel, Reason: s.Reason,
				Err:  fmt.Errorf("the %s end, %s, cannot be measured: %s", end.flag, short(s.Commit), s.says()),
				Hint: "see " + filepath.Join(f.log.dir, s.Log) + "; choose another end, or look for this failure with git bisect run"}
		}
	}
	return nil
}

func (s Skip) says() string {
	if s.Detail == "" {
		return s.Reason
	}
	return s.Reason + ": " + s.Detail
}

// note writes an entry to the log and tells the state and the search.
func (f *Finder) note(e entry) error {
	if err := f.log.add(e); err != nil {
		return err
	}
	e.At = f.log.now().UTC()
	if err := f.state.take(e); err != nil {
		return err
	}
	if err := f.feed(); err != nil {
		return err
	}
	var posterior []float64
	if f.search != nil {
		posterior = f.search.State().Posterior
	}
	return writeGitLog(f.log.dir, f.state, f.history, posterior)
}

// feed tells the search what it was not told yet.
func (f *Finder) feed() error {
	if f.search == nil {
		return nil
	}
	err := tell(f.search, f.state, f.history, f.fed)
	f.fed = len(f.state.facts)
	return err
}

// tell gives a search the facts of a state from one on. Commits that are not in
// the history (the bad end with a revert) are none of its business.
//
// The search is asked for its state after each fact, as it was when the fact was
// new: what it starts its next fit from is what it found last.
func tell(s *search.Search, state *State, h *History, from int) error {
	var errs []error
	for _, x := range state.facts[from:] {
		switch {
		case x.kernel != nil:
			i, twin := h.Index(x.kernel.Commit), h.Index(state.first[x.kernel.Alike])
			if i >= 0 && twin >= 0 && i != twin {
				errs = append(errs, s.Alias(i, twin))
			}
		case x.skip != nil:
			if i := h.Index(x.skip.Commit); i >= 0 {
				errs = append(errs, s.Skip(i))
			}
		case x.sample != nil:
			if i := h.Index(x.sample.Commit); i >= 0 {
				errs = append(errs, s.Observe(i, x.sample.Block, math.Log(x.sample.Value)))
			}
		}
		s.State()
	}
	return errors.Join(errs...)
}

func (f *Finder) short(i int) string { return f.history.Commits[i].Short() }
