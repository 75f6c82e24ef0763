package record

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"spindle/internal/fault"
)

// hashFiles gives the sha256 of every raw file below a sample's directory, by
// its path there.
func hashFiles(dir string) (map[string]string, error) {
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || name == sampleFile {
			return err
		}
		out[filepath.ToSlash(name)], err = hashFile(path)
		return err
	})
	return out, err
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Intact checks that the raw files of a sample are those that it was committed
// with. The error names the first that is gone or was changed. Samples of
// spindles that kept no hashes pass.
func (r *Run) Intact(s Sample) error {
	dir := r.SampleDir(s.Block, s.Cell)
	for _, name := range sortedNames(s.Files) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		sum, err := hashFile(path)
		if err == nil && sum != s.Files[name] {
			err = fmt.Errorf("%s: changed since its sample was made", path)
		}
		if err != nil {
			return &fault.Error{Err: fmt.Errorf("check sample: %w", err),
				Hint: "bring the file back from a copy; or remove the sample's directory, and spindle run --resume makes it again"}
		}
	}
	return nil
}

// PlanFile checks that plan.yaml is the plan that the run was made from, which
// the manifest has verbatim. The error says what is wrong with it.
func (r *Run) PlanFile() error {
	text, err := os.ReadFile(filepath.Join(r.dir, planFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is missing; manifest.json has its text", planFile)
	case err != nil:
		return fmt.Errorf("read %s: %w", planFile, err)
	case string(text) != r.manifest.Plan.Text:
		return fmt.Errorf("%s was edited and is not the plan that this run was made from; manifest.json has that", planFile)
	}
	return nil
}
