package record

import (
	"fmt"
	"io/fs"
)

// Withdraw takes a counted sample back: its files go under attempts/ with the
// reason, and its cell is open again. It is for samples that were not measured
// in this run, where it turns out that they do not belong in it; what a run
// measured itself stays, whatever it says.
func (r *Run) Withdraw(block int, c Cell, reason string) error {
	withdraw := fmt.Sprintf("withdraw sample %q of block %d", c, block)
	switch {
	case r.lock == nil:
		return fmt.Errorf("%s: run %s is open for reading only", withdraw, r.dir)
	case !r.Have(block, c):
		return fmt.Errorf("%s: %w", withdraw, fs.ErrNotExist)
	}
	n, err := r.NextAttempt(block, c)
	if err != nil {
		return fmt.Errorf("%s: %w", withdraw, err)
	}
	if err := r.abandon(r.SampleDir(block, c), Attempt{Block: block, Cell: c, Attempt: n, Reason: reason}); err != nil {
		return fmt.Errorf("%s: %w", withdraw, err)
	}
	return nil
}
