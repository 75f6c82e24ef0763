package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"spindle/internal/fault"
)

// Reservation is a directory that is kept for a run whose manifest is not known yet: to
// make its kernels may take an hour, after which it is late to find that the
// directory cannot be had.
type Reservation struct {
	dir  string
	made []string // the directories that were not there, the innermost first
	lock *os.File // nil once it is the run's, or given back
}

// Reserve makes the directory, if need be, and locks it as a run's is. It is refused
// where Create would be.
func Reserve(dir string) (*Reservation, error) {
	p := &Reservation{dir: dir, made: missing(dir)}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create run: %w", err)
	}
	full := vacant(dir)
	if _, err := os.Lstat(filepath.Join(dir, lockFile)); full != nil && err != nil {
		return nil, full // before a lock is left among somebody's files
	}
	var err error
	if p.lock, err = lock(dir); err != nil {
		return nil, err // a run that is going on
	}
	if full != nil {
		p.lock.Close()
		return nil, full
	}
	return p, nil
}

// Create begins the run there; see the function of that name.
func (p *Reservation) Create(m Manifest) (*Run, error) {
	m.Format = Format
	m.Plan.Hash = hashText(m.Plan.Text)
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("create run %s: %w", p.dir, err)
	}
	if err := vacant(p.dir); err != nil {
		return nil, err
	}
	r, err := create(p.dir, m, p.lock)
	if err == nil {
		p.lock = nil
	}
	return r, err
}

// Close gives the directory back, if no run began there, and leaves none that was
// not there before.
func (p *Reservation) Close() {
	if p.lock != nil {
		// While it is locked, so that nobody else's goes.
		os.Remove(filepath.Join(p.dir, lockFile))
		p.lock.Close()
		p.lock = nil
		for _, d := range p.made {
			os.Remove(d) // not if something is in it
		}
	}
}

// missing gives the directories on the way to dir, and dir, that are not there.
func missing(dir string) (list []string) {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			return list
		}
		list = append(list, dir)
	}
}

// vacant says whether a run can begin in a directory.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("create run: %w", err)
	}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == manifestFile }) {
		return &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("create run %s: it holds a run already", dir), Hint: "resume that run, or give this one another directory"}
	}
	for _, e := range entries {
		switch e.Name() {
		case lockFile, planFile, samplesDir: // of a Create that was cut short
		default:
			return &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("create run %s: directory is not empty (%s)", dir, e.Name()), Hint: "give the run a directory of its own"}
		}
	}
	return nil
}
