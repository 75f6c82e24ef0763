package series

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"spindle/internal/fault"
	"spindle/reports"
)

// stateFile says what a series' directory is of. It is written before the
// first kernel is built.
const stateFile = "series.json"

// RunDir is where the run of a series' directory is.
func RunDir(dir string) string { return filepath.Join(dir, "run") }

// Read reads what a series' directory is of.
func Read(dir string) (reports.Series, error) {
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return reports.Series{}, &fault.Error{Kind: fault.Plan, Err: fmt.Errorf("read series: %w", err),
			Hint: "a series' directory is one that spindle series made; it has a " + stateFile}
	}
	if err != nil {
		return reports.Series{}, fmt.Errorf("read series: %w", err)
	}
	var s reports.Series
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&s); err != nil {
		return s, fmt.Errorf("read series: %s: %w", filepath.Join(dir, stateFile), err)
	}
	if s.Format != reports.SeriesFormat {
		return s, fmt.Errorf("read series: %s has form %d and this spindle reads %d", filepath.Join(dir, stateFile), s.Format, reports.SeriesFormat)
	}
	return s, nil
}

func write(dir string, s reports.Series) error {
	s.Format = reports.SeriesFormat
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return fmt.Errorf("write %s: %w", stateFile, err)
	}
	return put(filepath.Join(dir, stateFile), b.Bytes())
}
