package record

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

const decisionFile = "decision.json"

// Decision is where a run that repeats by itself ended, and why.
type Decision struct {
	Blocks int    `json:"blocks"` // that count
	Why    string `json:"why"`    // one sentence
}

// Decide ends a run that repeats by itself: no block after the given one is
// planned any more. It can be done once. The run must be open for writing.
func (r *Run) Decide(d Decision) error {
	switch {
	case r.lock == nil:
		return fmt.Errorf("decide run %s: it is open for reading only", r.dir)
	case r.manifest.Auto == nil:
		return fmt.Errorf("decide run %s: it has a fixed number of blocks", r.dir)
	case d.Blocks < 1 || d.Blocks > len(r.manifest.Blocks):
		return fmt.Errorf("decide run %s: it has no block %d", r.dir, d.Blocks)
	case r.decision != nil:
		return fmt.Errorf("decide run %s: %w", r.dir, fs.ErrExist)
	}
	if err := writeJSON(filepath.Join(r.dir, decisionFile), d); err != nil {
		return err
	}
	r.decision = &d
	return nil
}

// Decision gives where the run ended, if it did so by itself.
func (r *Run) Decision() (Decision, bool) {
	if r.decision == nil {
		return Decision{}, false
	}
	return *r.decision, true
}

// readDecision is part of Open.
func (r *Run) readDecision() error {
	d, err := load(filepath.Join(r.dir, decisionFile), decode[Decision])
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open run: %w", err)
	}
	if r.manifest.Auto == nil || d.Blocks < 1 || d.Blocks > len(r.manifest.Blocks) {
		return fmt.Errorf("open run: %s is of another run", filepath.Join(r.dir, decisionFile))
	}
	r.decision = &d
	return nil
}
