package bisect

import (
	"context"
	"fmt"
	"math"
	"slices"

	"spindle/reports/stat"
)

// A culprit is confirmed in fresh blocks: with its parents beside it, and the
// bad end beside the bad end without it. Blocks are looked at as those of the
// ends; confirmMost is the most there are.
const confirmMost = 8

// Pair is a comparison of a confirmation.
type Pair struct {
	Base, Arm string // commits; the bad end with the revert goes by Revert.ID
	Verdict   stat.Verdict
}

// Confirmation is what came of measuring a culprit once more.
type Confirmation struct {
	Commit  string
	Parents []Pair // the culprit against each of its parents
	Revert  *Pair  // the bad end with the culprit reverted, against the bad end; nil if it was not measured
	Blocks  int
	way     float64 // the sign of the change that is looked for
}

// Stands says whether the culprit differs from each of its parents in the way
// that the ends do.
func (c Confirmation) Stands() bool {
	if len(c.Parents) == 0 {
		return false
	}
	for _, p := range c.Parents {
		if !claimed(p.Verdict) || p.Verdict.Change*c.way < 0 {
			return false
		}
	}
	return true
}

// confirm measures the culprit against its parents and by a revert.
func (f *Finder) confirm(ctx context.Context, culprit int) (bool, error) {
	id := f.history.Commits[culprit].ID
	if err := f.revert(ctx, culprit); err != nil {
		return false, err
	}
	parents := f.state.Reverts[id].Parents
	rule := stat.Auto{Most: confirmMost, See: endsSee}
	for {
		members, ok, err := f.members(ctx, id, parents)
		if err != nil || !ok {
			return false, err
		}
		block := f.confirmBlock(id, members)
		for _, i := range turn(len(members), block) {
			m := members[i]
			if f.state.confirmed(m.id, block) {
				continue
			}
			f.talk.Status(len(f.state.Samples), 0, 0, "confirming %s: block %d, %s", short(id), block, m.role)
			ok, err := f.sample(ctx, m.id, m.patch, block, phaseConfirm)
			if err != nil {
				return false, err
			}
			if !ok { // it does not run: the next block goes without it
				break
			}
		}
		c := f.state.Confirmation(f.history, id)
		if !slices.Contains(rule.Looks(), c.Blocks) {
			continue
		}
		if c.decided() || c.Blocks >= confirmMost {
			f.talk.Printf("%s", c.says())
			return c.Stands(), nil
		}
	}
}

// member is a kernel of a block of a confirmation.
type member struct{ id, patch, role string }

// members gives the kernels to compare, as far as they run. It is false where
// the culprit or one of its parents does not.
func (f *Finder) members(ctx context.Context, id string, parents []string) ([]member, bool, error) {
	var out []member
	for _, p := range parents {
		out = append(out, member{p, "", "its parent"})
	}
	out = append(out, member{id, "", "the culprit"})
	for _, m := range out {
		if _, ok, err := f.kernel(ctx, m.id, ""); err != nil || !ok {
			return nil, false, err
		}
	}
	if r := f.state.Reverts[id]; r.ID != "" {
		patch := f.log.path(r.File)
		_, ok, err := f.kernel(ctx, r.ID, patch)
		if err != nil {
			return nil, false, err
		}
		if ok {
			out = append(out, member{f.history.Bad().ID, "", "the bad end"}, member{r.ID, patch, "the bad end with the revert"})
		}
	}
	return out, true, nil
}

// confirmBlock gives the block to go on with: the last one of this
// confirmation if it lacks a member, else a new one.
func (f *Finder) confirmBlock(id string, members []member) int {
	last := f.state.lastBlock()
	if f.state.confirmed(id, last) || f.state.inPhase(phaseConfirm, last) > 0 {
		for _, m := range members {
			if !f.state.confirmed(m.id, last) {
				return last
			}
		}
	}
	return last + 1
}

// confirmed says whether a commit was measured in a block for a confirmation.
// In virtual time kernels that are alike are one.
func (s *State) confirmed(id string, block int) bool {
	_, ok := s.confirming(id, block)
	return ok
}

func (s *State) confirming(id string, block int) (float64, bool) {
	alike := s.Kernels[id].Alike
	for _, x := range s.Samples {
		if x.Block == block && x.Phase == phaseConfirm && (x.Commit == id || s.Start.Virtual && s.Kernels[x.Commit].Alike == alike) {
			return x.Value, true
		}
	}
	return 0, false
}

// turn gives the order of n members in a block, which turns by one from block
// to block.
func turn(n, block int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = (i + block) % n
	}
	return order
}

// Confirmation judges the confirmation of a culprit.
func (s *State) Confirmation(h *History, id string) Confirmation {
	c := Confirmation{Commit: id, way: math.Log1p(s.Ends(h).Change.Change)}
	pair := func(base, arm string) Pair {
		var pairs []stat.Pair
		for block := 1; block <= s.lastBlock(); block++ {
			a, ok := s.confirming(base, block)
			b, too := s.confirming(arm, block)
			if ok && too {
				pairs = append(pairs, stat.Pair{Block: block, Base: a, Arm: b})
			}
		}
		return Pair{base, arm, s.metric(confirmMost).Compare(pairs)}
	}
	for _, p := range s.Reverts[id].Parents {
		x := pair(p, id)
		c.Parents = append(c.Parents, x)
		if c.Blocks == 0 || x.Verdict.N < c.Blocks {
			c.Blocks = x.Verdict.N
		}
	}
	if r := s.Reverts[id]; r.ID != "" {
		if x := pair(h.Bad().ID, r.ID); x.Verdict.N > 0 {
			c.Revert = &x
		}
	}
	return c
}

// decided says whether more blocks would tell nothing new.
func (c Confirmation) decided() bool {
	for _, p := range c.Parents {
		if !claimed(p.Verdict) && p.Verdict.Kind != stat.NoChange {
			return false
		}
	}
	return c.Revert == nil || claimed(c.Revert.Verdict) || c.Revert.Verdict.Kind == stat.NoChange
}

func (c Confirmation) says() string {
	if c.Stands() {
		return fmt.Sprintf("commit %s is confirmed: it differs from its parent by %+.2f %%, %d blocks", short(c.Commit), 100*c.Parents[0].Verdict.Change, c.Blocks)
	}
	return fmt.Sprintf("commit %s is not confirmed: against its parent %+.2f %%, %d blocks", short(c.Commit), 100*c.Parents[0].Verdict.Change, c.Blocks)
}
