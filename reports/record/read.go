package record

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Have says whether the sample of a cell of a block is there and counted.
func (r *Run) Have(block int, c Cell) bool {
	_, err := os.Stat(filepath.Join(r.SampleDir(block, c), sampleFile))
	return err == nil
}

// Samples reads all counted samples, in the order block, condition, arm; the
// last two as the manifest lists them. A sample that cannot be read is an
// error that names its file: leaving it out would change the verdict.
func (r *Run) Samples() ([]Sample, error) {
	root := filepath.Join(r.dir, samplesDir)
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		// A run has it from its first moment on.
		return nil, fmt.Errorf("read samples: %s is gone, and with it all that was measured", root)
	}
	places, err := r.places(root)
	if err != nil {
		return nil, fmt.Errorf("read samples: %w", err)
	}
	var out []Sample
	for _, p := range places {
		path := filepath.Join(root, p.path(), sampleFile)
		s, err := load(path, decodeSample)
		if err != nil {
			return nil, fmt.Errorf("read samples: %w", err)
		}
		if s.Block != p.block || s.Cell != r.cells[p] {
			return nil, fmt.Errorf("read samples: %s is of %q, block %d: it was moved", path, s.Cell, s.Block)
		}
		out = append(out, s)
	}
	order := r.order()
	slices.SortFunc(out, func(a, b Sample) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), order(a.Cell, b.Cell))
	})
	return out, nil
}

// Attempts reads all attempts that do not count, in the order block,
// condition, arm, attempt.
func (r *Run) Attempts() ([]Attempt, error) {
	tries, err := r.tries(filepath.Join(r.dir, attemptsDir))
	if err != nil {
		return nil, fmt.Errorf("read attempts: %w", err)
	}
	var out []Attempt
	for _, t := range tries {
		path := filepath.Join(t.dir, attemptFile)
		a, err := load(path, decode[Attempt])
		if err != nil {
			return nil, fmt.Errorf("read attempts: %w", err)
		}
		if a.Block != t.place.block || a.Cell != r.cells[t.place] || a.Attempt != t.attempt {
			return nil, fmt.Errorf("read attempts: %s is of %q, block %d: it was moved", path, a.Cell, a.Block)
		}
		out = append(out, a)
	}
	order := r.order()
	slices.SortFunc(out, func(a, b Attempt) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), order(a.Cell, b.Cell), cmp.Compare(a.Attempt, b.Attempt))
	})
	return out, nil
}

// NextAttempt gives the number for the next [Run.Begin] of a cell.
func (r *Run) NextAttempt(block int, c Cell) (int, error) {
	next := 1
	for _, root := range []string{attemptsDir, draftsDir} {
		entries, err := os.ReadDir(filepath.Join(r.dir, root, place{block, c.Slug()}.path()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
		for _, e := range entries {
			if n, err := strconv.Atoi(strings.TrimPrefix(e.Name(), "a")); err == nil {
				next = max(next, n+1)
			}
		}
	}
	return next, nil
}

// order compares cells as the manifest lists their conditions and arms.
func (r *Run) order() func(a, b Cell) int {
	arms, conditions := map[string]int{}, map[Condition]int{}
	for i, a := range r.manifest.Arms {
		arms[a.Name] = i
	}
	for i, c := range r.manifest.Conditions {
		conditions[c] = i
	}
	return func(a, b Cell) int {
		return cmp.Or(cmp.Compare(conditions[a.Condition], conditions[b.Condition]), cmp.Compare(arms[a.Arm], arms[b.Arm]))
	}
}

// places lists root/bN/SLUG. A directory that is no place of this run's
// layout is an error: a sample that nobody counts should not lie there.
func (r *Run) places(root string) ([]place, error) {
	blocks, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []place
	for _, b := range blocks {
		dir := filepath.Join(root, b.Name())
		n, ok := strings.CutPrefix(b.Name(), "b")
		block, err := strconv.Atoi(n)
		if !ok || err != nil || !b.IsDir() {
			return nil, fmt.Errorf("%s: not a block of this run", dir)
		}
		slugs, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, s := range slugs {
			p := place{block, s.Name()}
			if _, ok := r.cells[p]; !ok || filepath.Join(root, p.path()) != filepath.Join(dir, s.Name()) {
				return nil, fmt.Errorf("%s: not a cell of this run's layout", filepath.Join(dir, s.Name()))
			}
			out = append(out, p)
		}
	}
	return out, nil
}
