package bisect

import (
	"math"
	"slices"
	"time"
)

// Before there is a build or a sample to go by.
const (
	assumedBuild = time.Minute
	assumedBoot  = time.Minute
	foundBuild   = time.Second // one that is in the store
)

// cost gives what a sample of a commit would take: the boot, and the build where
// its kernel is not there. The first build of a lane compiles all, and those
// after it little: the median of those since is what the next one is taken for.
func (f *Finder) cost(i int) time.Duration {
	boot := assumedBoot
	if s := f.state.seconds(); s > 0 {
		boot = time.Duration(s * float64(time.Second))
	}
	id := f.history.Commits[i].ID
	_, known := f.state.Kernels[id]
	switch {
	case known, f.ahead != nil && f.ahead.busy == id:
		return boot
	case f.lab.Built(id):
		return boot + foundBuild
	}
	return boot + f.state.incremental()
}

// incremental gives what the next build will take.
func (s *State) incremental() time.Duration {
	var took []float64
	for _, k := range s.Kernels {
		if k.Commit != s.Start.Good { // the first of its lane
			took = append(took, k.Seconds)
		}
	}
	if len(took) == 0 {
		return assumedBuild
	}
	slices.Sort(took)
	return time.Duration(took[len(took)/2] * float64(time.Second))
}

// status tells how far the search is.
func (f *Finder) status(next int) {
	st := f.search.State()
	done, total := len(f.state.Samples), 0
	var left time.Duration
	if st.Left > 0 {
		total = done + st.Left
		left = time.Duration(st.Left) * f.cost(next)
	}
	f.talk.Status(done, total, left, "%s; next %s", f.stands(st.Posterior), f.short(next))
}

// entropy is what is not known of the culprit, in bits.
func entropy(posterior []float64) (bits float64) {
	for _, p := range posterior {
		if p > 0 {
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
