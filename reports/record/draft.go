package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Attempt is a try at a sample that does not count.
type Attempt struct {
	Block int `json:"block"`
	Cell
	Attempt int    `json:"attempt"`
	Reason  string `json:"reason"`
}

// interrupted is the reason of an attempt whose writer was killed.
const interrupted = "interrupted: spindle ended before the sample was done"

// Draft is a sample in the making. It ends with Commit or Abandon; a draft
// that has neither when the process ends becomes an attempt on [Resume].
type Draft struct {
	run     *Run
	place   place
	cell    Cell
	attempt int
	dir     string
	ended   bool
}

// Begin makes the directory for an attempt at a cell of a block. Attempts
// count from 1 and are not used twice; see [Run.NextAttempt]. The run must be
// open for writing and the sample not yet there.
func (r *Run) Begin(block int, c Cell, attempt int) (*Draft, error) {
	p := place{block, c.Slug()}
	begin := fmt.Sprintf("begin sample %q of block %d", c, block)
	switch {
	case r.lock == nil:
		return nil, fmt.Errorf("%s: run %s is open for reading only", begin, r.dir)
	case r.cells[p] != c:
		return nil, fmt.Errorf("%s: not in the run's layout", begin)
	case attempt < 1:
		return nil, fmt.Errorf("%s: attempt %d: attempts count from 1", begin, attempt)
	case r.Have(block, c):
		return nil, fmt.Errorf("%s: %w", begin, fs.ErrExist)
	}
	try := fmt.Sprintf("a%d", attempt)
	if _, err := os.Lstat(filepath.Join(r.dir, attemptsDir, p.path(), try)); err == nil {
		return nil, fmt.Errorf("%s: attempt %d was made before: %w", begin, attempt, fs.ErrExist)
	}
	d := &Draft{run: r, place: p, cell: c, attempt: attempt, dir: filepath.Join(r.dir, draftsDir, p.path(), try)}
	r.drafts.Lock()
	defer r.drafts.Unlock()
	if err := os.MkdirAll(filepath.Dir(d.dir), 0o755); err != nil {
		return nil, fmt.Errorf("%s: %w", begin, err)
	}
	if err := os.Mkdir(d.dir, 0o755); err != nil {
		return nil, fmt.Errorf("%s: %w", begin, err)
	}
	return d, nil
}

// Dir is where the raw files of the sample go.
func (d *Draft) Dir() string { return d.dir }

// Commit makes the draft the sample of its cell. Block, Cell and Attempt of s
// are set from the draft. A sample that cannot be counted (a failure of the
// machinery, a value that is no number) is refused, and the draft stays open.
func (d *Draft) Commit(s Sample) error {
	commit := fmt.Sprintf("commit sample %q of block %d", d.cell, d.place.block)
	if d.ended {
		return fmt.Errorf("%s: draft has ended", commit)
	}
	s.Block, s.Cell, s.Attempt = d.place.block, d.cell, d.attempt
	if err := s.check(); err != nil {
		return fmt.Errorf("%s: %w", commit, err)
	}
	var err error
	if s.Files, err = hashFiles(d.dir); err != nil {
		return fmt.Errorf("%s: %w", commit, err)
	}
	if err := writeJSON(filepath.Join(d.dir, sampleFile), s); err != nil {
		return fmt.Errorf("%s: %w", commit, err)
	}
	if err := move(d.dir, d.run.SampleDir(d.place.block, d.cell)); err != nil {
		return fmt.Errorf("%s: %w", commit, err)
	}
	d.end()
	return nil
}

// Abandon keeps the draft's files under attempts/ with the reason why the
// attempt does not count.
func (d *Draft) Abandon(reason string) error {
	if d.ended {
		return fmt.Errorf("abandon sample %q of block %d: draft has ended", d.cell, d.place.block)
	}
	a := Attempt{Block: d.place.block, Cell: d.cell, Attempt: d.attempt, Reason: reason}
	if err := d.run.abandon(d.dir, a); err != nil {
		return fmt.Errorf("abandon sample %q of block %d: %w", d.cell, d.place.block, err)
	}
	d.end()
	return nil
}

// end removes the directories that held the draft, where they are empty now.
func (d *Draft) end() {
	d.ended = true
	d.run.drafts.Lock()
	defer d.run.drafts.Unlock()
	dir := filepath.Dir(d.dir)
	for range 3 { // the cell's, the block's, drafts/ itself
		if os.Remove(dir) != nil {
			return // another draft is in it
		}
		dir = filepath.Dir(dir)
	}
}

func (r *Run) abandon(dir string, a Attempt) error {
	if err := writeJSON(filepath.Join(dir, attemptFile), a); err != nil {
		return err
	}
	// A sample.json in an attempt could be taken for a sample.
	err := os.Rename(filepath.Join(dir, sampleFile), filepath.Join(dir, "not-counted-"+sampleFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	to := filepath.Join(r.dir, attemptsDir, place{a.Block, a.Slug()}.path(), fmt.Sprintf("a%d", a.Attempt))
	return move(dir, to)
}

// sweep turns what a killed writer left under drafts/ into attempts.
func (r *Run) sweep() error {
	root := filepath.Join(r.dir, draftsDir)
	tries, err := r.tries(root)
	if err != nil {
		return err
	}
	for _, t := range tries {
		if err := r.abandon(t.dir, Attempt{Block: t.place.block, Cell: r.cells[t.place], Attempt: t.attempt, Reason: interrupted}); err != nil {
			return err
		}
	}
	// What is left are empty directories.
	return os.RemoveAll(root)
}

// try is a directory under attempts/ or drafts/.
type try struct {
	place   place
	attempt int
	dir     string
}

// tries lists root/bN/SLUG/aN in no order that matters.
func (r *Run) tries(root string) ([]try, error) {
	dirs, err := r.places(root)
	if err != nil {
		return nil, err
	}
	var out []try
	for _, p := range dirs {
		parent := filepath.Join(root, p.path())
		entries, err := os.ReadDir(parent)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			n, ok := strings.CutPrefix(e.Name(), "a")
			i, err := strconv.Atoi(n)
			dir := filepath.Join(parent, e.Name())
			if !ok || err != nil || i < 1 || !e.IsDir() {
				return nil, fmt.Errorf("%s: not an attempt of this run", dir)
			}
			out = append(out, try{p, i, dir})
		}
	}
	return out, nil
}
