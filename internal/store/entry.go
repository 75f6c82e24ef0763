package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// Entry describes what is in the store: the content of HASH.json.
type Entry struct {
	Kind    string    `json:"kind"`
	Hash    string    `json:"hash"`
	Created time.Time `json:"created"` // for people; nothing depends on it
	Inputs  []Input   `json:"inputs"`  // in the order they were hashed

	Dir  string    `json:"-"` // absolute path
	Used time.Time `json:"-"` // when it was last asked for
}

func writeEntry(path string, k Key) error {
	e := Entry{Kind: k.kind, Hash: k.hash, Created: time.Now().UTC().Truncate(time.Second)}
	if err := json.Unmarshal([]byte(k.inputs), &e.Inputs); err != nil {
		return err
	}
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

var hashName = regexp.MustCompile(`^[0-9a-f]{64}$`)

// List gives all complete entries, sorted by kind and hash.
func (s *Store) List() ([]Entry, error) {
	kinds, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list store: %w", err)
	}
	var out []Entry
	for _, kind := range kinds {
		if !kind.IsDir() || !kindName.MatchString(kind.Name()) {
			continue
		}
		names, err := os.ReadDir(filepath.Join(s.dir, kind.Name()))
		if err != nil {
			return nil, fmt.Errorf("list store: %w", err)
		}
		for _, name := range names {
			if !name.IsDir() || !hashName.MatchString(name.Name()) {
				continue
			}
			e := Entry{Dir: filepath.Join(s.dir, kind.Name(), name.Name())}
			text, err := os.ReadFile(e.Dir + ".json")
			if err == nil {
				err = json.Unmarshal(text, &e)
			}
			var info os.FileInfo
			if err == nil {
				info, err = os.Stat(e.Dir + ".json")
			}
			if errors.Is(err, os.ErrNotExist) {
				continue // removed while we looked
			}
			if err != nil {
				return nil, fmt.Errorf("list store: %w", err)
			}
			e.Used = info.ModTime()
			out = append(out, e)
		}
	}
	return out, nil
}
