package bisect

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	"spindle/pipeline/bisect/search"
)

// Kind is how a bisection stands.
type Kind string

// The kinds of answers.
const (
	Unfinished   Kind = "unfinished"    // more samples are to be taken
	Found        Kind = "found"         // one commit, confirmed against its parents
	Unconfirmed  Kind = "unconfirmed"   // one commit by the search, and its confirmation failed
	OneOf        Kind = "one of"        // several, which nothing that runs lies between
	NoDifference Kind = "no difference" // the ends do not differ
	Undecided    Kind = "undecided"     // the search ended without an answer
)

// Answer is what a bisection knows.
type Answer struct {
	Kind         Kind
	Ends         Ends
	Culprits     []int // places in the history, most probable first
	Probability  float64
	Search       *search.State // nil before the search
	Confirmation *Confirmation // of Culprits[0]
	history      *History
}

// Answer judges all that is known. It needs no more than the log.
func (s *State) Answer(h *History) Answer {
	a := Answer{Kind: Unfinished, Ends: s.Ends(h), history: h}
	if !a.Ends.Differ() {
		if a.Ends.Alike || s.End != nil || a.Ends.Change.N >= endsMost {
			a.Kind = NoDifference
		}
		return a
	}
	sr, err := newSearch(h, a.Ends)
	if err != nil {
		return a
	}
	// What cannot be told to the search was told when it was found out.
	_ = tell(sr, s, h, 0)
	st := sr.State()
	a.Search, a.Culprits, a.Probability = &st, st.Culprits, st.Probability
	if len(st.Culprits) > 0 {
		if id := h.Commits[st.Culprits[0]].ID; s.Reverts[id].Commit != "" {
			c := s.Confirmation(h, id)
			a.Confirmation = &c
		}
	}
	switch one := len(st.Culprits) == 1; {
	case st.Kind == search.NoDifference:
		a.Kind = NoDifference
	case st.Kind == search.OneOf:
		a.Kind = OneOf
	case one && a.Confirmation != nil && a.Confirmation.Stands():
		a.Kind = Found // that a second change may be there too takes nothing from it
	case s.End == nil && one && (a.Confirmation == nil || !a.Confirmation.decided()):
	case s.End == nil && st.Kind == search.Searching:
	case one:
		a.Kind = Unconfirmed
	case len(st.Culprits) > 1:
		a.Kind = OneOf
	default:
		a.Kind = Undecided
	}
	return a
}

// Line is the answer in one line.
func (a Answer) Line() string {
	name := func() string {
		c := a.history.Commits[a.Culprits[0]]
		return fmt.Sprintf("%s (%q)", c.Short(), clean(c.Subject))
	}
	switch a.Kind {
	case Found:
		return fmt.Sprintf("%s changed it by %+.1f %%, probability %.1f %%, confirmed", name(), 100*math.Expm1(a.Search.Change), 100*a.Probability)
	case Unconfirmed:
		return fmt.Sprintf("%s by the search (%.1f %%), and not confirmed", name(), 100*a.Probability)
	case OneOf:
		return fmt.Sprintf("one of these %d commits, probability %.1f %%", len(a.Culprits), 100*a.Probability)
	case NoDifference:
		if a.Ends.Alike {
			return "no difference: both ends have the same kernel"
		}
		if a.Search != nil {
			return fmt.Sprintf("no difference after all; %.1f %% would have been seen, %d samples", 100*math.Expm1(a.Search.Smallest), a.Search.Samples)
		}
		return a.Ends.says()
	case Undecided:
		return "undecided"
	}
	return "unfinished"
}

// stands says what the search knows, in few words.
func (f *Finder) stands(posterior []float64) string {
	left := math.Exp2(entropy(posterior))
	return fmt.Sprintf("about %.0f of %d commits left", max(1, left), len(f.history.Commits)-1)
}

// clean makes one printable line of text from a repository or a guest.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
}
