package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"
)

// jsonMax bounds what is read of one file; a manifest of ten thousand cells
// has a few MB.
const jsonMax = 64 << 20

// encode gives v as indented JSON with a final newline. The same value gives
// the same bytes: encoding/json sorts the keys of maps.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // people read these files
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// decode reads exactly one JSON value of type T. Unknown keys are ignored: a
// later spindle may have added them.
func decode[T any](data []byte) (T, error) {
	var v T
	d := json.NewDecoder(bytes.NewReader(data))
	err := d.Decode(&v)
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF):
		return v, errors.New("file is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return v, fmt.Errorf("JSON ends in the middle, after %d bytes: the file was cut", len(data))
	case errors.As(err, &syntax):
		return v, fmt.Errorf("corrupt JSON at byte %d: %w", syntax.Offset, err)
	case err != nil:
		return v, fmt.Errorf("decode JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return v, fmt.Errorf("corrupt JSON: more follows the value that ends at byte %d", d.InputOffset())
	}
	return v, nil
}

// load reads a file that encode wrote; errors name the file.
func load[T any](path string, decode func([]byte) (T, error)) (T, error) {
	var zero T
	f, err := os.Open(path)
	if err != nil {
		return zero, err // names the path
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, jsonMax+1))
	if err != nil {
		return zero, err
	}
	if len(data) > jsonMax {
		return zero, fmt.Errorf("read %s: larger than %d MiB: not a record of spindle", path, jsonMax>>20)
	}
	v, err := decode(data)
	if err != nil {
		return zero, fmt.Errorf("read %s: %w", path, err)
	}
	return v, nil
}

func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// writeFile puts data under its final name in one step, on stable storage.
func writeFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := renameio.WriteFile(path, data, 0o644, renameio.WithTempDir(dir)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return syncDir(dir)
}

// writeJSON is writeFile of v's encoding.
func writeJSON(path string, v any) error {
	data, err := encode(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return writeFile(path, data)
}
