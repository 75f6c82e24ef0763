package reports

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/google/renameio/v2"

	"spindle/reports/record"
)

func put(dir, name string, data []byte) error {
	if err := renameio.WriteFile(filepath.Join(dir, name), data, 0o644, renameio.WithTempDir(dir)); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(dir, name), err)
	}
	return nil
}

// sampleDir is where a sample's raw files lie.
func (a *analysis) sampleDir(s record.Sample) string { return a.places[spot{s.Block, s.Cell}].dir }

// csv gives every metric of every sample. A sample that broke has one line
// without a metric.
func (a *analysis) csv() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	// Errors stay in w until the end.
	_ = w.Write([]string{"block", "drive", "filesystem", "scheduler", "workload", "arm", "outcome", "reason", "metric", "unit", "direction", "value"})
	for _, s := range a.samples {
		c := s.Condition
		line := []string{strconv.Itoa(s.Block), c.Drive, c.Filesystem, c.Scheduler, c.Workload, s.Arm, s.Outcome.Kind, s.Outcome.Reason}
		if len(s.Metrics) == 0 {
			_ = w.Write(append(line, "", "", "", ""))
		}
		for _, m := range s.Metrics {
			_ = w.Write(append(line[:8:8], m.Name, m.Unit, string(m.Direction), strconv.FormatFloat(m.Value, 'g', -1, 64)))
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}
