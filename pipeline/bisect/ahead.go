package bisect

import (
	"context"
	"time"

	"spindle/pipeline/bisect/search"
)

// ahead builds kernels while guests run, one at a time. It is for virtual time:
// there a busy host changes no number. In real time a build would disturb the
// guest that is measured, so none runs then.
type ahead struct {
	ctx  context.Context
	stop context.CancelFunc
	lab  Lab
	busy string // commit that is built; "" for none
	done chan built
}

func newAhead(ctx context.Context, lab Lab) *ahead {
	a := &ahead{lab: lab, done: make(chan built, 1)}
	a.ctx, a.stop = context.WithCancel(ctx)
	return a
}

// start builds a commit's kernel, if none is being built.
func (a *ahead) start(id string) {
	if a.busy != "" {
		return
	}
	a.busy = id
	go func() { a.done <- build(a.ctx, a.lab, id, id, "") }()
}

// wait gives the kernel of a commit if that is being built, or was.
func (a *ahead) wait(ctx context.Context, id string) (built, bool) {
	if a.busy != id {
		return built{}, false
	}
	select {
	case b := <-a.done:
		a.busy = ""
		return b, true
	case <-ctx.Done():
		return built{}, false
	}
}

// look gives what was built since, if anything.
func (a *ahead) look() (built, bool) {
	select {
	case b := <-a.done:
		a.busy = ""
		return b, true
	default:
		return built{}, false
	}
}

// close ends what is built; the lane it was built in is fit for use after.
func (a *ahead) close() {
	a.stop()
	if a.busy != "" {
		<-a.done
	}
}

// collect notes what was built ahead.
func (f *Finder) collect() error {
	if f.ahead == nil {
		return nil
	}
	if b, ok := f.ahead.look(); ok {
		_, _, err := f.keep(b)
		return err
	}
	return nil
}

// buildNext begins to build what would be measured if the commit that is next
// told nothing.
func (f *Finder) buildNext(next, block int) {
	if _, ok := f.state.Kernels[f.history.Commits[next].ID]; !ok {
		return // its own build comes first
	}
	c := f.search.Next(block, func(i int) time.Duration {
		if _, ok := f.state.Kernels[f.history.Commits[i].ID]; ok || i == next {
			return never
		}
		return f.cost(i)
	})
	if c.Done || c.Why == search.End {
		return
	}
	id := f.history.Commits[c.Commit].ID
	if _, ok := f.state.Kernels[id]; !ok {
		f.ahead.start(id)
	}
}

// never is what a sample costs that is not wanted.
const never = 1000 * time.Hour
