package bisect

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// State is all that a bisection knows: what its log says.
type State struct {
	Start   Start
	Began   time.Time
	Last    time.Time         // of the last line
	Kernels map[string]Kernel // by commit
	Skips   map[string]Skip   // by commit
	Samples []Sample          // in the order they were taken
	Reverts map[string]Revert // by the commit that was reverted
	End     *End              // nil while it goes on

	facts  []fact            // kernels, skips and samples, as they came
	first  map[string]string // Alike -> the first commit with such a kernel
	values map[spot][]float64
}

// fact is what the search is told, in the order of the log: one of its parts is
// set.
type fact struct {
	kernel *Kernel
	skip   *Skip
	sample *Sample
}

// spot is where samples are looked up: kernels that are alike share them.
type spot struct {
	alike string
	block int
}

func newState(s Start, at time.Time) *State {
	return &State{
		Start: s, Began: at, Last: at,
		Kernels: map[string]Kernel{}, Skips: map[string]Skip{}, Reverts: map[string]Revert{},
		first: map[string]string{}, values: map[spot][]float64{},
	}
}

// take adds an entry.
func (s *State) take(e entry) error {
	s.Last = e.At
	switch {
	case e.Start != nil:
		return errors.New("a second beginning")
	case e.Kernel != nil:
		k := e.Kernel
		if k.Commit == "" || k.Alike == "" {
			return errors.New("a kernel without a commit or a hash")
		}
		s.Kernels[k.Commit] = *k
		if s.first[k.Alike] == "" {
			s.first[k.Alike] = k.Commit
		}
		s.facts = append(s.facts, fact{kernel: k})
	case e.Skip != nil:
		if e.Skip.Commit == "" {
			return errors.New("a skip without a commit")
		}
		s.Skips[e.Skip.Commit] = *e.Skip
		s.facts = append(s.facts, fact{skip: e.Skip})
	case e.Sample != nil:
		x := e.Sample
		k, ok := s.Kernels[x.Commit]
		if !ok {
			return fmt.Errorf("a sample of %s, whose kernel was not made", short(x.Commit))
		}
		if !(x.Value > 0) || math.IsInf(x.Value, 0) || x.Block < 1 {
			return fmt.Errorf("a sample of %s with the value %g in block %d", short(x.Commit), x.Value, x.Block)
		}
		s.Samples = append(s.Samples, *x)
		at := spot{k.Alike, x.Block}
		s.values[at] = append(s.values[at], x.Value)
		s.facts = append(s.facts, fact{sample: x})
	case e.Revert != nil:
		s.Reverts[e.Revert.Commit] = *e.Revert
	case e.End != nil:
		s.End = e.End
	}
	return nil
}

// of gives what a commit's kernel measured in a block; kernels that are alike
// count as one.
func (s *State) of(commit string, block int) []float64 {
	return s.values[spot{s.Kernels[commit].Alike, block}]
}

// count gives how many samples a commit has, those of kernels alike included.
func (s *State) count(commit string) (n int) {
	k, ok := s.Kernels[commit]
	if !ok {
		return 0
	}
	for at, v := range s.values {
		if at.alike == k.Alike {
			n += len(v)
		}
	}
	return n
}

// twin gives the commit whose kernel this one's is, byte for byte but for its
// name; "" for the first of its kind.
func (s *State) twin(commit string) string {
	k, ok := s.Kernels[commit]
	if !ok || s.first[k.Alike] == commit {
		return ""
	}
	return s.first[k.Alike]
}

// lastBlock gives the number of the last block with a sample.
func (s *State) lastBlock() (last int) {
	for _, x := range s.Samples {
		last = max(last, x.Block)
	}
	return last
}

// boots counts samples by their phase.
func (s *State) boots(phase string) (n int) {
	for _, x := range s.Samples {
		if x.Phase == phase {
			n++
		}
	}
	return n
}

// seconds gives the mean time of a sample; 0 before the first.
func (s *State) seconds() float64 {
	var sum float64
	for _, x := range s.Samples {
		sum += x.Seconds
	}
	if len(s.Samples) == 0 {
		return 0
	}
	return sum / float64(len(s.Samples))
}

// lastPhase gives that of the last sample; "" before the first.
func (s *State) lastPhase() string {
	if len(s.Samples) == 0 {
		return ""
	}
	return s.Samples[len(s.Samples)-1].Phase
}
