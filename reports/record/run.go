package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"spindle/internal/fault"
)

const (
	manifestFile = "manifest.json"
	planFile     = "plan.yaml"
	lockFile     = "lock"
	sampleFile   = "sample.json"
	attemptFile  = "attempt.json"
	samplesDir   = "samples"
	attemptsDir  = "attempts"
	draftsDir    = "drafts"
)

// Run is a run directory. One from [Open] only reads; one from [Create] or
// [Resume] holds the writer's lock until [Run.Close]. Its methods may be
// called from many goroutines.
type Run struct {
	dir      string
	manifest Manifest
	cells    map[place]Cell // by where a sample of it lies
	lock     *os.File       // nil for a reader
	decision *Decision      // nil while the run goes on, and for a fixed number of blocks

	// drafts guards the directories that hold drafts: one that a Begin makes
	// must not go as empty under it.
	drafts sync.Mutex
}

// place is where a sample lies under samples/, attempts/ or drafts/.
type place struct {
	block int
	slug  string
}

func (p place) path() string { return filepath.Join(fmt.Sprintf("b%d", p.block), p.slug) }

// Create makes the directory of a new run and locks it. It fills in the
// format number and the plan's hash. A directory that has anything in it is
// refused with a fault of the plan.
func Create(dir string, m Manifest) (*Run, error) {
	p, err := Reserve(dir)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return p.Create(m)
}

func create(dir string, m Manifest, l *os.File) (*Run, error) {
	if err := writeFile(filepath.Join(dir, planFile), []byte(m.Plan.Text)); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, samplesDir), 0o755); err != nil {
		return nil, fmt.Errorf("create run: %w", err)
	}
	// Last: a directory is a run once it has a manifest.
	if err := writeJSON(filepath.Join(dir, manifestFile), m); err != nil {
		return nil, err
	}
	if err := syncDir(filepath.Dir(filepath.Clean(dir))); err != nil {
		return nil, fmt.Errorf("create run %s: %w", dir, err)
	}
	r, err := Open(dir)
	if err != nil {
		return nil, err
	}
	r.lock = l
	return r, nil
}

// Open opens a run for reading.
func Open(dir string) (*Run, error) {
	m, err := load(filepath.Join(dir, manifestFile), decodeManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("open run %s: %w", dir, err), Hint: "a run directory is one that `spindle run` made; it has a manifest.json"}
	}
	if err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	r := &Run{dir: dir, manifest: m, cells: map[place]Cell{}}
	for i, b := range m.Blocks {
		for _, c := range b {
			r.cells[place{i + 1, c.Slug()}] = c
		}
	}
	if err := r.readDecision(); err != nil {
		return nil, err
	}
	return r, nil
}

// Resume opens a run for writing: it takes the lock and turns the drafts of a
// writer that ended early into attempts.
func Resume(dir string) (*Run, error) {
	r, err := Open(dir)
	if err != nil {
		return nil, err
	}
	if r.lock, err = lock(r.dir); err != nil {
		return nil, err
	}
	if err := r.sweep(); err != nil {
		return nil, errors.Join(fmt.Errorf("resume run %s: %w", dir, err), r.Close())
	}
	return r, nil
}

// Close gives the writer's lock back. A reader's Close does nothing.
func (r *Run) Close() error {
	if r.lock == nil {
		return nil
	}
	l := r.lock
	r.lock = nil
	return l.Close()
}

// Dir gives the run's directory as an absolute path.
func (r *Run) Dir() string { return r.dir }

// Manifest gives the manifest as it was written.
func (r *Run) Manifest() Manifest { return r.manifest }

// Planned gives the number of samples of the layout, up to where the run
// decided.
func (r *Run) Planned() int {
	if r.decision == nil {
		return len(r.cells)
	}
	n := 0
	for _, b := range r.manifest.Blocks[:r.decision.Blocks] {
		n += len(b)
	}
	return n
}

// SampleDir gives the directory of a counted sample, where its raw files lie.
func (r *Run) SampleDir(block int, c Cell) string {
	return filepath.Join(r.dir, samplesDir, place{block, c.Slug()}.path())
}
