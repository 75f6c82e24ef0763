package record

import (
	"fmt"
	"path/filepath"
)

// Keep makes the files in draft, and s beside them, the sample in the directory
// to, which must not be there yet. It is for samples outside the layout of a
// [Run], as a bisection takes them; such a directory has the same files as one
// of a run. Once to is there, all of it is, also after a crash of the host.
func Keep(draft, to string, s Sample) error {
	keep := fmt.Sprintf("keep sample %s", to)
	if err := s.check(); err != nil {
		return fmt.Errorf("%s: %w", keep, err)
	}
	var err error
	if s.Files, err = hashFiles(draft); err != nil {
		return fmt.Errorf("%s: %w", keep, err)
	}
	if err := writeJSON(filepath.Join(draft, sampleFile), s); err != nil {
		return fmt.Errorf("%s: %w", keep, err)
	}
	if err := move(draft, to); err != nil {
		return fmt.Errorf("%s: %w", keep, err)
	}
	return nil
}

// Kept reads a sample that [Keep] made.
func Kept(dir string) (Sample, error) {
	s, err := load(filepath.Join(dir, sampleFile), decode[Sample])
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return Sample{}, fmt.Errorf("read sample %s: %w", dir, err)
	}
	return s, nil
}
